package gateway_test

import (
	"cmp"
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/postern-mcp/postern/apiclient/transport"
	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // as command.Main does: net/http writes there what an API sends unasked
	goleak.VerifyTestMain(m)
}

const marked = "viat_pat_MARKED/secret+value="

// row is a tool as a generated catalogue has it, with a client as thin as can be.
func row(name, method, path, inputSchema string, args ...gateway.ArgV1) gateway.ToolV1 {
	return gateway.ToolV1{
		Name: name, Definition: `{"name":"` + name + `"}`, InputSchema: cmp.Or(inputSchema, `{"type":"object","additionalProperties":false}`), Contract: `{}`,
		Operation: transport.Operation{ID: name, Method: method, Path: path, Headers: []string{"X-Mode"}},
		ReadOnly:  method == http.MethodGet,
		Args:      args,
		Invoke: func(ctx context.Context, client gateway.Client, a *gateway.Args) (*http.Response, error) {
			target, query, header := path, url.Values{}, http.Header{}
			for _, arg := range args {
				value := a.OptionalString(arg.Name)
				switch {
				case arg.In == gateway.InPath:
					target = strings.ReplaceAll(target, "{"+arg.Key+"}", url.PathEscape(a.String(arg.Name)))
				case value == nil:
				case arg.In == gateway.InQuery:
					query.Set(arg.Key, *value)
				case arg.In == gateway.InHeader:
					header.Set(arg.Key, *value)
				}
			}
			if len(query) > 0 {
				target += "?" + query.Encode()
			}
			req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(client.Server, "/")+target, a.Body())
			if err != nil {
				return nil, err
			}
			req.Header = header
			req.Header.Set("Content-Type", a.ContentType())
			return client.Doer.Do(req)
		},
	}
}

// received is a request as it came in.
type received struct{ method, path, query, mode, contentType, body string }

// api answers every request with what answer says and keeps the requests.
type api struct {
	*httptest.Server
	requests chan received
}

func newAPI(t testing.TB, answer http.HandlerFunc) *api {
	t.Helper()
	a := &api{requests: make(chan received, 64)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case a.requests <- received{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("X-Mode"), r.Header.Get("Content-Type"), string(body)}:
		default:
		}
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// one is the one request that was made; nothing if there was none.
func (a *api) one(t testing.TB) received {
	t.Helper()
	select {
	case r := <-a.requests:
		if len(a.requests) > 0 {
			t.Errorf("more than one request was made")
		}
		return r
	default:
		return received{}
	}
}

func respond(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func newGateway(t testing.TB, server string, c gateway.CatalogV1, change ...func(*gateway.Options, *transport.Config)) *gateway.Gateway {
	t.Helper()
	base, err := url.Parse(server + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	conf := transport.Config{BaseURL: base, UserAgent: "postern/test", Timeout: 5 * time.Second, MaxAttempts: 1}
	slices.SortFunc(c.Tools, func(x, y gateway.ToolV1) int { return strings.Compare(x.Name, y.Name) })
	o := gateway.Options{Catalog: &c}
	for _, f := range change {
		f(&o, &conf)
	}
	if o.Upstream, err = transport.New(conf); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Upstream.Close)
	return gateway.New(o)
}

func logTo(w io.Writer) func(*gateway.Options, *transport.Config) {
	return func(o *gateway.Options, _ *transport.Config) { o.Logger = slog.New(slog.NewTextHandler(w, nil)) }
}

func caller(t testing.TB) gateway.Caller {
	t.Helper()
	token, err := transport.NewToken(marked)
	if err != nil {
		t.Fatal(err)
	}
	return gateway.Caller{Token: token}
}

// call makes a call and checks what holds for every result.
func call(ctx context.Context, t testing.TB, g *gateway.Gateway, who gateway.Caller, tool, arguments string) *gateway.Result {
	t.Helper()
	found, ok := g.Tool(tool)
	if !ok {
		t.Fatalf("there is no tool %s", tool)
	}
	r := g.Call(ctx, who, found, []byte(arguments))
	if r == nil {
		t.Fatal("no result")
	}
	defer r.Release()
	text := string(r.AppendText(nil)) + string(r.Data)
	if strings.Contains(text, "MARKED") {
		t.Errorf("the token is in the result: %s", text)
	}
	if r.Err != nil {
		if !strings.HasPrefix(r.Err.RequestID, "rq_") || r.Err.Delivery == "" {
			t.Errorf("envelope without request_id or delivery: %s", r.Err.Envelope())
		}
		if r.Text != nil || r.Data != nil || r.MIMEType != "" {
			t.Errorf("envelope and content at once: %s", text)
		}
	}
	return r
}

// fails checks that r is an envelope with this code.
func fails(t testing.TB, r *gateway.Result, code apierrors.Code) *apierrors.Error {
	t.Helper()
	if r.Err == nil {
		t.Fatalf("got %s%s, want the code %s", r.Text, r.Data, code)
	}
	if r.Err.Code != code {
		t.Fatalf("got %s, want the code %s", r.Err.Envelope(), code)
	}
	return r.Err
}
