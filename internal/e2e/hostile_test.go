package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// expectation is the one request that arguments may become.
type expectation struct {
	method string
	path   []string // decoded segments
	query  url.Values
	body   map[string]json.RawMessage // nil for none
}

// expect places arguments by the contract alone: into the path where its
// template names them, else into the query of a GET or the body of the rest.
func expect(t testing.TB, tool contractTool, arguments string) expectation {
	t.Helper()
	e := expectation{method: tool.Method, query: url.Values{}}
	if tool.Method == "POST" || tool.Method == "PATCH" {
		e.body = map[string]json.RawMessage{}
	}
	values := asMap(t, arguments)
	if _, ok := tool.InputSchema.Properties["project"]; ok && values["project"] == nil {
		values["project"] = json.RawMessage(`"from-env"`)
	}
	for segment := range strings.SplitSeq(tool.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			segment = text(values[name])
			delete(values, name)
		}
		e.path = append(e.path, segment)
	}
	for name, value := range values {
		if e.body != nil {
			e.body[name] = value
		} else {
			e.query.Set(name, text(value))
		}
	}
	return e
}

// text is a value as it stands in a URL.
func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return string(value)
	}
	return s
}

// allowedHeaders are all that may leave.
var allowedHeaders = map[string]bool{"Accept": true, "Accept-Encoding": true, "Authorization": true, "Content-Length": true, "Content-Type": true, "User-Agent": true}

// differs says in what a request is another one than expected.
func (e expectation) differs(r request) string {
	path, query, _ := strings.Cut(r.URI, "?")
	var segments []string
	for segment := range strings.SplitSeq(path, "/") {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return "bad path " + path
		}
		segments = append(segments, decoded)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "bad query " + query
	}
	var body map[string]json.RawMessage
	if r.Body != "" {
		if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
			return "bad body " + r.Body
		}
	}
	for name, value := range r.Header {
		if !allowedHeaders[name] || len(value) != 1 {
			return fmt.Sprintf("header %s: %q", name, value)
		}
	}
	return cmp.Diff([]any{e.method, e.path, e.query, e.body}, []any{r.Method, segments, values, body})
}

// hostile are strings as they stand in JSON, quotes included.
func hostile() []string {
	list := []string{`"."`, `".."`, `"../.."`, `"../"`, `"/.."`, `"%2e%2e"`, `"%2E."`, `"%252e%252e"`, `"%25252e%25252e"`, `"..%2f.."`, `"..%5c.."`, `""`, `" "`,
		`"a/../../b"`, `"a/b"`, `"/"`, `"//"`, `"a//b"`, `"/a"`, `"a/"`, `"..;"`, `"..;x=1"`, `"?x=1"`, `"a?x=1&project=other"`, `"#f"`, `"a#f"`, `"a&b=c"`, `"a=b"`, `"a+b"`, `"a;b"`,
		`"a\r\nX-Injected: 1"`, `"\r\n\r\nGET /v1/other HTTP/1.1"`, `"\n"`, `"\u0000"`, `"a\u0000b"`, `"\u007f"`, `"\\..\\.."`, `"a\\b"`, `"\u002e\u002e"`, `"\u002e\u002e\u002f"`,
		`"%"`, `"%zz"`, `"%00"`, `"%0d%0aX: 1"`, `"%c0%ae%c0%ae"`, `"\u2024\u2024"`, `"．．"`, `"é"`, `"{project}"`, `"http://evil.example/"`, `"//evil.example/"`, `"@evil.example"`,
		`"\ud800"`, `"a\udc00b"`, "\"\xff\"", "\"\xc0\xae\xc0\xae\"", "\"a\xf0\x28\"",
		"1e1000000", "-1e999999999", "9007199254740993", "true", "[]", "{}", `["../.."]`, `"` + strings.Repeat("a", 10_000) + `"`, `"` + strings.Repeat("../", 84) + `"`}
	return list
}

func TestNoStringReachesAnotherOperation(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any", project: "from-env"})
		for _, tool := range contract() {
			for _, argument := range tool.names() {
				if schema := tool.InputSchema.Properties[argument]; !schema.takes("string") {
					continue
				}
				for _, value := range hostile() {
					arguments := tool.arguments(map[string]string{argument: value})
					r, sent := p.call(t, tool.Name, arguments), up.take()
					what := fmt.Sprintf("%s, %s %.60q", tool.Name, argument, value)
					switch {
					case r.rpc != 0 && len(sent) == 0: // not a message at all: invalid UTF-8, or a number the SDK cannot read
						if value[0] == '"' && utf8.ValidString(value) {
							t.Errorf("%s: %.200s", what, r.raw)
						}
					case r.isError:
						if r.failure.Code != "invalid_arguments" || r.failure.Delivery != "not_sent" || len(sent) != 0 || r.failure.Pointer != "/"+argument {
							t.Errorf("%s: %.400s, sent %.300v", what, r.text, sent)
						}
					case len(sent) != 1:
						t.Errorf("%s: sent %.300v", what, sent)
					default:
						want := expect(t, tool, arguments)
						if diff := want.differs(sent[0]); diff != "" {
							t.Errorf("%s: %.600s", what, diff)
						}
					}
				}
			}
		}
	})
}

// Values that other services take as names are not refused for looking odd.
func TestOddButHarmlessNamesArrive(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any", project: "from-env"})
		for _, value := range []string{"a/b", "a b", "é", "a?b", "a#b", "a&b=c", "a+b", "100%", "...", "a.", ".a", "a..b", "{project}", `a\b`, "a;b", "😀"} {
			spelled, _ := json.Marshal(value)
			arguments := `{"name":` + string(spelled) + `}`
			p.ok(t, "read_queue_trigger", arguments)
			tool := contractNamed("read_queue_trigger")
			if diff := expect(t, tool, arguments).differs(up.take()[0]); diff != "" {
				t.Errorf("%q: %s", value, diff)
			}
		}
	})
}

func contractNamed(name string) contractTool {
	for _, tool := range contract() {
		if tool.Name == name {
			return tool
		}
	}
	panic("no tool " + name)
}

// The project also comes from a header of the client's and from the environment.
func TestHostileDefaultsAreHeldToTheSameRules(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	values := []string{".", "..", "../../identity", "%2e%2e", "%252e%252e", "a/../../b", "a?x=1", "a#f", `..\..`, "/", strings.Repeat("a", 64), strings.Repeat("../", 20)}
	p := dial(t, way{"http", legacy}, settings{api: up.url, token: "any"})
	check := func(where, value string, r result) {
		sent := up.take()
		if r.isError && r.failure.Code == "invalid_arguments" && r.failure.Pointer == "/project" && len(sent) == 0 {
			return
		}
		spelled, _ := json.Marshal(value)
		if len(sent) != 1 {
			t.Errorf("%s %q: %s, sent %+v", where, value, r.raw, sent)
		} else if diff := expect(t, contractNamed("list_queue_triggers"), `{"project":`+string(spelled)+`}`).differs(sent[0]); diff != "" {
			t.Errorf("%s %q: %s", where, value, diff)
		}
	}
	for _, value := range values {
		p.header = http.Header{"Viat-Project": {value}}
		check("header", value, p.call(t, "list_queue_triggers", "{}"))
		env := dial(t, way{"stdio", legacy}, settings{api: up.url, token: "any", project: value})
		check("environment", value, env.call(t, "list_queue_triggers", "{}"))
	}
}

// Arguments that break a reader rather than a rule.
func TestHostileShapesOfArgumentsAreRefusedAndNotSent(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any", project: "from-env"})
		for _, arguments := range []string{`[]`, `"x"`, `7`, `true`, `{"name":"a","name":".."}`, `{"name":"a","n\u0061me":".."}`, `{"Name":"a"}`, `{"":1}`, `{"/":1,"name":"a"}`,
			`{"name":"a","project":` + nested(5000) + `}`, `{"name":"a","payload":` + nested(9000) + `}`} {
			raw := p.request(t, "tools/call", callParams("read_queue_trigger", arguments))
			if sent := up.take(); len(sent) != 0 {
				t.Errorf("%.60s: sent %+v", arguments, sent)
			}
			if w.transport == "http" && strings.HasPrefix(raw, "malformed payload") {
				continue // the SDK's own answer, with status 400
			}
			if r := readResult(t, raw); r.rpc == 0 && r.failure.Code != "invalid_arguments" {
				t.Errorf("%.60s: %.300s", arguments, raw)
			}
		}
		p.ok(t, "list_projects", "{}")
	})
}
