package e2e

import (
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// marked is a token of all the characters that RFC 6750 allows and escapes change.
const marked = `viat_51gn/Mark+ed.~-9f8e7d==`

// spelled are the ways in which a token could be in an output.
func spelled() map[string]string {
	query, throughout := url.QueryEscape(marked), ""
	for i := range len(marked) {
		throughout += fmt.Sprintf("%%%02X", marked[i])
	}
	return map[string]string{
		"as it is": marked, "as a query": query, "as a query in lower case": strings.NewReplacer("%2F", "%2f", "%2B", "%2b", "%3D", "%3d").Replace(query),
		"as a path": url.PathEscape(marked), "percent-encoded throughout": throughout, "with slashes escaped": strings.ReplaceAll(marked, "/", `\/`),
		"with JSON escapes": strings.NewReplacer("/", `\u002f`, "+", `\u002B`, "v", `\u0076`).Replace(marked),
		"in base64":         base64.StdEncoding.EncodeToString([]byte(marked)), "its middle": "51gn/Mark", "its end": "9f8e7d",
	}
}

// clean asserts that nothing of the token is in a text.
func clean(t *testing.T, what, text string) {
	t.Helper()
	for how, secret := range spelled() {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("%s holds the token %s: …%.200q", what, how, text[max(0, at-60):])
		}
	}
}

// echoes are upstreams that give the token back, each in its own way.
func echoes() map[string]http.HandlerFunc {
	list := map[string]http.HandlerFunc{}
	for how, secret := range spelled() {
		if how == "in base64" || strings.HasPrefix(how, "its") {
			continue // that is not the token any more
		}
		asJSON, _ := json.Marshal(secret)
		for _, status := range []int{200, 302, 401, 404, 500} {
			if strings.Contains(secret, `\`) {
				asJSON = []byte(`"` + secret + `"`) // escaped already
			}
			list[fmt.Sprintf("JSON %s %d", how, status)] = reply(status, "application/json", `{"detail":`+string(asJSON)+`,`+string(asJSON)+`:[`+string(asJSON)+`]}`)
			list[fmt.Sprintf("text %s %d", how, status)] = reply(status, "text/plain", "you sent Bearer "+secret)
			list[fmt.Sprintf("raw JSON %s %d", how, status)] = reply(status, "application/problem+json", `{"title":"`+secret+`"}`)
		}
	}
	list["header"] = func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"X-Token", "Warning", "Retry-After", "Set-Cookie", "Www-Authenticate", "X-Request-Id"} {
			w.Header().Set(name, marked)
		}
		reply(http.StatusTooManyRequests, "text/html; token="+marked, "<p>"+marked)(w, r)
	}
	list["location"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/login?token="+url.QueryEscape(marked))
		w.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(w, `<a href="/login?token=`+url.QueryEscape(marked)+`">`)
	}
	list["content type"] = reply(200, "image/"+marked, "GIF89a")
	list["reflected request"] = func(w http.ResponseWriter, r *http.Request) {
		dump, _ := httputil.DumpRequest(r, true)
		reply(500, "text/plain", string(dump))(w, r)
	}
	list["gzip"] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/json")
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, `{"you":%q}`, marked)
		z.Close()
	}
	return list
}

// A service that passes on another one's error body puts JSON into JSON.
func TestATokenInsideNestedJSONIsMasked(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	p := dial(t, way{"stdio", legacy}, settings{api: up.url, token: marked})
	inner := `{"error":"bad token ` + strings.ReplaceAll(marked, "/", `\/`) + `"}`
	outer, _ := json.Marshal(inner)
	up.respond(reply(502, "application/json", `{"detail":`+string(outer)+`}`))
	text := p.call(t, "trigger.complete", `{"trigger_id":"t","outcome":"executed"}`).text
	if strings.Contains(text, "9f8e7d") {
		t.Errorf("the token is in %s", text)
	}
}

// oddities are answers that cannot be passed on.
func oddities() map[string]http.HandlerFunc {
	hijack := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, text)
			conn.Close()
		}
	}
	return map[string]http.HandlerFunc{
		"nothing":         hijack(""),
		"no HTTP":         hijack("hello Bearer " + marked + "\r\n\r\n"),
		"bad status":      hijack("HTTP/1.1 abc " + marked + "\r\n\r\n"),
		"bad header":      hijack("HTTP/1.1 200 OK\r\n" + marked + "\r\n\r\n"),
		"odd reason":      hijack("HTTP/1.1 499 " + marked + "\r\nContent-Length: 0\r\n\r\n"),
		"unasked answers": hijack("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nX: " + marked + "\r\n\r\n" + marked),
		"broken off":      hijack("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"a\":\"" + marked),
		"bad chunk":       hijack("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + marked + "\r\n"),
		"bad gzip":        hijack("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 28\r\n\r\n" + marked),
		"switching":       hijack("HTTP/1.1 101 Switching Protocols\r\nUpgrade: " + marked + "\r\nConnection: Upgrade\r\n\r\n" + marked),
		"too large":       reply(200, "application/json", `"`+strings.Repeat(marked, 50_000)+`"`),
		"invalid JSON":    reply(200, "application/json", `{"a":"`+marked),
		"invalid UTF-8":   reply(200, "text/plain", "\xff"+marked),
	}
}

func TestTheTokenIsInNoOutputOfAGateway(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := newPeer(t, w, settings{api: up.url, token: marked, project: "p", args: []string{"--log-level=debug"}})
		var seen strings.Builder
		p.watch = func(direction, message string) {
			if direction == "<" {
				seen.WriteString(message + "\n")
			}
		}
		if w.revision == legacy {
			p.initialize(t)
		}
		p.request(t, "tools/list", "{}")
		for _, tool := range contract() {
			p.call(t, tool.Name, tool.arguments(nil))
		}
		for _, answers := range []map[string]http.HandlerFunc{echoes(), oddities()} {
			for how, answer := range answers {
				seen.Reset()
				up.respond(answer)
				for tool, arguments := range map[string]string{"read_identity": `{}`, "trigger.inspect": `{"trigger_id":"t"}`, "trigger.complete": `{"trigger_id":"t","outcome":"executed"}`} {
					p.request(t, "tools/call", callParams(tool, arguments))
				}
				clean(t, "an answer to "+how, seen.String())
			}
		}
		if got := up.take(); len(got) == 0 || got[0].Header.Get("Authorization") != "Bearer "+marked {
			t.Errorf("the token was not sent: %+v", got[0].Header)
		}
		log := p.process.stderr.String()
		if clean(t, "the log", log); strings.Contains(log, "panic") {
			t.Errorf("an answer made it panic:\n%.3000s", log)
		}
	})
}

// An agent that has seen its token may put it anywhere.
func TestATokenThatAClientSaysIsNotRepeated(t *testing.T) {
	t.Parallel()
	name, _ := json.Marshal(marked)
	long, _ := json.Marshal(strings.Repeat("x", 60) + marked)
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := newPeer(t, w, settings{api: up.url, token: marked, project: "p", args: []string{"--log-level=debug"}})
		var seen strings.Builder
		p.watch = func(direction, message string) {
			if direction == "<" {
				seen.WriteString(message + "\n")
			}
		}
		if w.revision == legacy {
			p.initialize(t)
		}
		for how, params := range map[string]string{
			"tool":          callParams(marked, `{}`),
			"long tool":     `{"name":` + string(long) + `,"arguments":{}}`,
			"argument":      callParams("trigger.inspect", `{"trigger_id":"t",`+string(name)+`:1}`),
			"deep argument": callParams("trigger.complete", `{"trigger_id":"t","outcome":"executed","actions":[{`+string(name)+`:{}}]}`),
			"value":         callParams("trigger.complete", `{"trigger_id":"t","outcome":`+string(name)+`}`),
			"path":          callParams("trigger.inspect", `{"trigger_id":"../`+marked+`"}`),
			"type":          callParams("trigger.inspect", `{"trigger_id":[`+string(name)+`]}`),
			"arguments":     `{"name":"trigger.inspect","arguments":` + string(name) + `}`,
		} {
			seen.Reset()
			p.request(t, "tools/call", params)
			clean(t, "the answer to a token as "+how, seen.String())
		}
		seen.Reset()
		p.request(t, "tools/list", `{"cursor":`+string(name)+`}`)
		p.request(t, marked, `{}`)
		p.request(t, "resources/read", `{"uri":`+string(name)+`}`)
		clean(t, "the answer to another method", seen.String())
		clean(t, "the log", p.process.stderr.String())
	})
}

func TestTheTokenIsInNoResponseOfTheHTTPServer(t *testing.T) {
	t.Parallel()
	p, _ := web(t, "--rate-limit=0.5", "--max-request-bytes=5000", "--log-level=debug", "--log-format=json")
	for name, change := range map[string]func(*http.Request){
		"Basic":        func(r *http.Request) { r.Header.Set("Authorization", "Basic "+marked) },
		"two words":    func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+marked+" "+marked) },
		"no scheme":    func(r *http.Request) { r.Header.Set("Authorization", marked) },
		"two headers":  func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+marked) },
		"evil host":    func(r *http.Request) { r.Host = "evil.example" },
		"evil origin":  func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
		"GET":          func(r *http.Request) { r.Method = "GET" },
		"rate limited": nil,
		"query":        func(r *http.Request) { r.URL.RawQuery = "token=" + url.QueryEscape(marked) },
		"other path":   func(r *http.Request) { r.URL.Path = "/mcp/" + marked },
		"no JSON":      func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("{")), 1 },
		"too large": func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat(" ", 5001))), 5001
		},
		"bad version": func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "1999-01-01") },
	} {
		p.token = marked
		resp, body := ask(t, p, change)
		dump, _ := httputil.DumpResponse(resp, false)
		clean(t, name, string(dump)+body)
	}
	clean(t, "the log", p.process.stderr.String())
}

func TestTheTokenIsInNoOutputOfTheCommandLine(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(marked+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := file + ".broken"
	if err := os.WriteFile(broken, []byte(marked+" "+marked), 0o600); err != nil {
		t.Fatal(err)
	}
	config := file + ".yaml"
	if err := os.WriteFile(config, []byte("token: '"+marked+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	api := "VIAT_API_URL=" + up.url
	look := func(env []string, commands ...string) {
		for _, args := range commands {
			stdout, stderr, _ := postern(t, env, "", strings.Fields(args)...)
			clean(t, fmt.Sprintf("%s with %.14q", args, env[1]), stdout+stderr)
		}
	}
	for _, answer := range []http.HandlerFunc{reply(200, "application/json", "[]"), echoes()["JSON as it is 401"], echoes()["text as it is 500"], oddities()["no HTTP"], oddities()["broken off"]} {
		up.respond(answer)
		look([]string{api, "VIAT_TOKEN=" + marked}, "doctor", "call read_identity --log-level=debug", "call list_queue_triggers")
	}
	for _, env := range [][]string{
		{api, "VIAT_TOKEN=" + marked}, {api, "VIAT_TOKEN_FILE=" + file}, {api, "VIAT_TOKEN_FILE=" + broken}, {api, "VIAT_TOKEN=" + marked + "\n"}, {api, "VIAT_TOKEN=" + marked + " x"},
		{api, "VIAT_CONFIG=" + config}, {api, "VIAT_CONFIG=" + broken}, {"VIAT_API_URL=http://127.0.0.1:1", "VIAT_TOKEN=" + marked},
	} {
		look(env, "doctor --log-level=debug", "config", "call read_identity", "stdio --log-level=debug")
	}
	look([]string{api, "VIAT_TOKEN=" + marked}, "--help", "serve --help", "stdio --help", "call --help", "config --help", "doctor --help", "tools", "tools --json", "version")
}

// Somebody will try it; what is printed may end in a log.
func TestATokenInAFlagIsRefusedAndNotRepeated(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"stdio", "--token=" + marked}, {"stdio", "--token", marked}, {"serve", "--token=" + marked}, {"call", "list_projects", "--token=" + marked}, {"--token=" + marked, "doctor"}} {
		stdout, stderr, status := postern(t, []string{"VIAT_API_URL=http://127.0.0.1:1"}, "", args...)
		if status != 2 {
			t.Errorf("%.12q: status %d", args, status)
		}
		clean(t, fmt.Sprintf("%.12q", args), stdout+stderr)
	}
}
