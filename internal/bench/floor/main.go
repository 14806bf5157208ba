// Command floor is what a plain gateway on the MCP SDK costs: tools written by
// hand, one GET each, the body passed on as text. It checks nothing and protects
// nothing. The benchmark holds Postern against it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	upstream := flag.String("upstream", "", "URL of the API")
	addr := flag.String("addr", "", "address to listen on; standard input and output without one")
	flag.Parse()
	s := mcp.NewServer(&mcp.Implementation{Name: "floor", Version: "1"}, nil)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	pass := func(name, schema string, path func(map[string]string) string) {
		s.AddTool(&mcp.Tool{Name: name, Description: name, InputSchema: json.RawMessage(schema)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var args map[string]string
				if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
					return nil, err
				}
				body, err := get(ctx, client, *upstream+path(args))
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(body)}}}, nil
			})
	}
	pass("read_queue_trigger_fires", `{"type":"object","properties":{"project":{"type":"string"},"name":{"type":"string"}},"required":["project","name"]}`,
		func(a map[string]string) string {
			return "/v1/projects/" + url.PathEscape(a["project"]) + "/queue-triggers/" + url.PathEscape(a["name"]) + "/fires"
		})
	pass("trigger.inspect", `{"type":"object","properties":{"trigger_id":{"type":"string"}},"required":["trigger_id"]}`,
		func(a map[string]string) string { return "/v1/triggers/" + url.PathEscape(a["trigger_id"]) })
	if *addr == "" {
		log.Fatal(s.Run(context.Background(), &mcp.StdioTransport{}))
	}
	log.Fatal(http.ListenAndServe(*addr, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})))
}

func get(ctx context.Context, client *http.Client, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer bench-token")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return io.ReadAll(resp.Body)
}
