// Command bare is what the work of a gateway costs by itself: one request decoded,
// one GET, the body quoted as text, one answer written, with net/http and
// encoding/json. It speaks just enough of MCP for the benchmark, checks nothing and
// protects nothing; it is a measure and no server.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	} `json:"params"`
}

const tools = `{"tools":[{"name":"read_queue_trigger_fires","description":"Fires.","inputSchema":{"type":"object"}},{"name":"trigger.inspect","description":"A trigger.","inputSchema":{"type":"object"}}]}`

var (
	upstream = flag.String("upstream", "", "URL of the API")
	addr     = flag.String("addr", "", "address to listen on; standard input and output without one")
	client   = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
)

// answer is the reply to a message, nil for a notification.
func answer(ctx context.Context, message []byte) ([]byte, error) {
	var r request
	if err := json.Unmarshal(message, &r); err != nil {
		return nil, err
	}
	out := append(append([]byte(`{"jsonrpc":"2.0","id":`), r.ID...), `,"result":`...)
	path := "/v1/triggers/" + url.PathEscape(r.Params.Arguments["trigger_id"])
	switch {
	case r.ID == nil:
		return nil, nil
	case r.Method == "initialize":
		return append(out, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"1"}}}`...), nil
	case r.Method == "tools/list":
		return append(append(out, tools...), '}'), nil
	case r.Params.Name == "read_queue_trigger_fires":
		path = "/v1/projects/" + url.PathEscape(r.Params.Arguments["project"]) + "/queue-triggers/" + url.PathEscape(r.Params.Arguments["name"]) + "/fires"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, *upstream+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer bench-token")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", resp.StatusCode)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(string(body))
	if err != nil {
		return nil, err
	}
	return append(append(append(out, `{"content":[{"type":"text","text":`...), text...), `}],"isError":false}}`...), nil
}

func main() {
	flag.Parse()
	if *addr == "" {
		in := bufio.NewReaderSize(os.Stdin, 64<<10)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				return
			}
			reply, err := answer(context.Background(), line)
			if err != nil {
				log.Fatal(err)
			}
			if reply != nil {
				_, _ = os.Stdout.Write(append(reply, '\n'))
			}
		}
	}
	log.Fatal(http.ListenAndServe(*addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		reply, err := answer(r.Context(), message)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(reply)
	})))
}
