package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	apierrors "github.com/postern-mcp/postern/errors"
	"github.com/postern-mcp/postern/gateway"
)

// things has an argument in every place and a property for every null rule.
func things() gateway.ToolV1 {
	tool := row("make_thing", http.MethodPost, "/shops/{shop}/things/{id}", `{"type":"object","properties":{
		"id":{"type":"string"},
		"shop":{"type":["string","integer"]},
		"page":{"type":["integer","null"]},
		"must":{"type":["string","null"]},
		"mode":{"type":["string","null"],"maxLength":1000},
		"any":{},
		"payload":{},
		"nullable":{"type":["string","null"]},
		"list":{"type":["array","null"]},
		"na~me/x":{"type":["string","null"]}},
		"required":["id","shop","must","payload"],"additionalProperties":false}`,
		gateway.ArgV1{Name: "id", Key: "id", In: gateway.InPath, Required: true},
		gateway.ArgV1{Name: "shop", Key: "shop", In: gateway.InPath, Required: true},
		gateway.ArgV1{Name: "page", Key: "p", In: gateway.InQuery},
		gateway.ArgV1{Name: "must", Key: "must", In: gateway.InQuery, Required: true},
		gateway.ArgV1{Name: "mode", Key: "X-Mode", In: gateway.InHeader},
		gateway.ArgV1{Name: "any", Key: "any", In: gateway.InBody},
		gateway.ArgV1{Name: "payload", Key: "payload", In: gateway.InBody, Required: true},
		gateway.ArgV1{Name: "nullable", Key: "nullable", In: gateway.InBody, SendNull: true},
		gateway.ArgV1{Name: "list", Key: "li\"st", In: gateway.InBody},
		gateway.ArgV1{Name: "na~me/x", Key: "x", In: gateway.InBody})
	tool.Body = gateway.BodyV1{Kind: gateway.ObjectBody, ContentTypes: []string{"application/merge-patch+json"}, Required: true}
	return tool
}

func TestArguments(t *testing.T) {
	t.Parallel()
	upstream := newAPI(t, respond(200, "application/json", `{}`))
	g := newGateway(t, upstream.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{things()}})
	const fixed = `"id":"7","shop":"s","must":"m"`
	tests := []struct {
		name, arguments  string
		path, query      string // "/v1/shops/s/things/7" and "must=m" where empty
		mode, body       string
		pointer, message string // of invalid_arguments
	}{
		{name: "spellings pass", arguments: `{` + fixed + `,"page":1E2,"payload":{"b":1.0,"a":[1e400,-0,9007199254740993],"b2":"\u00e9\/"}}`,
			query: "must=m&p=1E2", body: `{"payload":{"b":1.0,"a":[1e400,-0,9007199254740993],"b2":"\u00e9\/"}}`},
		{name: "white space inside values stays", arguments: " { \"payload\" : [ 1 ,\t2 ] ," + fixed + " } ", body: "{\"payload\":[ 1 ,\t2 ]}"},
		{name: "null is omission for optional arguments", arguments: `{` + fixed + `,"page":null,"mode":null,"any":null,"list":null,"payload":0}`, body: `{"payload":0}`},
		{name: "null is sent where upstream declares it", arguments: `{` + fixed + `,"nullable":null,"payload":0}`, body: `{"payload":0,"nullable":null}`},
		{name: "null is a value of a required property that takes it", arguments: `{` + fixed + `,"payload":null}`, body: `{"payload":null}`},
		{name: "null in a query is empty", arguments: `{"id":"7","shop":"s","must":null,"payload":0}`, query: "-", body: `{"payload":0}`},
		{name: "empty values are values", arguments: `{` + fixed + `,"any":"","list":[],"payload":{}}`, body: `{"any":"","payload":{},"li\"st":[]}`},
		{name: "names are upstream's", arguments: `{` + fixed + `,"list":[null],"na~me/x":"y","payload":"<&>\u2028"}`, body: `{"payload":"<&>\u2028","li\"st":[null],"x":"y"}`},
		{name: "slashes and dots in a segment", arguments: `{"id":"a/b?c#d%41..","shop":12,"must":"&=+ é","payload":0}`,
			path: "/v1/shops/12/things/a%2Fb%3Fc%23d%2541..", query: "must=%26%3D%2B+%C3%A9", body: `{"payload":0}`},
		{name: "header", arguments: `{` + fixed + `,"mode":"a\tb é","payload":0}`, mode: "a\tb é", body: `{"payload":0}`},

		{name: "missing", arguments: `{"id":"7","shop":"s","must":"m"}`, pointer: "/payload", message: "required"},
		{name: "no arguments", arguments: ``, pointer: "/id", message: "required"},
		{name: "null arguments", arguments: ` null `, pointer: "/id", message: "required"},
		{name: "not an object", arguments: `[1]`, pointer: "", message: "expected object"},
		{name: "not JSON", arguments: `{"id"`, pointer: "", message: ""},
		{name: "two values", arguments: `{} {}`, pointer: "", message: ""},
		{name: "invalid UTF-8", arguments: `{` + fixed + `,"payload":"` + "\xff" + `"}`, message: ""},
		{name: "unknown", arguments: `{` + fixed + `,"payload":0,"nope":1}`, pointer: "/nope", message: "one of the arguments id, shop"},
		{name: "twice", arguments: `{` + fixed + `,"payload":0,"payload":1}`, pointer: "/payload", message: "once"},
		{name: "twice, escaped", arguments: `{` + fixed + `,"payload":0,"p\u0061yload":1}`, pointer: "/payload", message: "once"},
		{name: "twice inside", arguments: `{` + fixed + `,"payload":{"a":0,"a":1}}`, pointer: "/payload/a", message: "once"},
		{name: "wrong type", arguments: `{` + fixed + `,"payload":0,"na~me/x":1}`, pointer: "/na~0me~1x", message: "expected string or null, got integer 1"},
		{name: "null for a required argument", arguments: `{"id":null,"shop":"s","must":"m","payload":0}`, pointer: "/id", message: "got null"},
		{name: "too deep", arguments: `{` + fixed + `,"payload":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, pointer: "/payload" + strings.Repeat("/0", 98), message: "at most 100 levels"},
		{name: "empty segment", arguments: `{"id":"","shop":"s","must":"m","payload":0}`, pointer: "/id", message: "id cannot stand in the request's path"},
		{name: "dot segment", arguments: `{"id":"..","shop":"s","must":"m","payload":0}`, pointer: "/id", message: "cannot stand"},
		{name: "hidden dot segment", arguments: `{"id":"%252e%252E","shop":"s","must":"m","payload":0}`, pointer: "/id", message: "cannot stand"},
		{name: "dot segment behind a slash", arguments: `{"id":"a/..","shop":"s","must":"m","payload":0}`, pointer: "/id", message: "cannot stand"},
		{name: "control character", arguments: `{"id":"a\u0000","shop":"s","must":"m","payload":0}`, pointer: "/id", message: "cannot stand"},
		{name: "line break in a header", arguments: `{` + fixed + `,"mode":"a\r\nX-Evil: b","payload":0}`, message: "X-Mode"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := call(t.Context(), t, g, caller(t), "make_thing", tt.arguments)
			got := upstream.one(t)
			if tt.body == "" {
				e := fails(t, r, apierrors.InvalidArguments)
				if tt.message == "" {
					tt.pointer = e.Pointer // a matter of the schema package
				}
				if e.Pointer != tt.pointer || !strings.Contains(e.Message, tt.message) || e.Delivery != apierrors.NotSent || got != (received{}) {
					t.Errorf("got %s\nwant the pointer %q and %q", e.Envelope(), tt.pointer, tt.message)
				}
				return
			}
			if tt.path == "" {
				tt.path = "/v1/shops/s/things/7"
			}
			switch tt.query {
			case "":
				tt.query = "must=m"
			case "-":
				tt.query = ""
			}
			if want := (received{"POST", tt.path, tt.query, tt.mode, "application/merge-patch+json", tt.body}); got != want {
				t.Errorf("sent %+v\nwant %+v", got, want)
			}
			if r.Err != nil {
				t.Errorf("got %s", r.Err.Envelope())
			}
		})
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	object := func(required bool) gateway.ToolV1 {
		tool := row("t", http.MethodPost, "/t", `{"type":"object","properties":{"a":{}}}`, gateway.ArgV1{Name: "a", Key: "a", In: gateway.InBody})
		tool.Body = gateway.BodyV1{Kind: gateway.ObjectBody, ContentTypes: []string{"application/json"}, Required: required}
		return tool
	}
	whole := func(required bool) gateway.ToolV1 {
		tool := row("t", http.MethodPost, "/t", `{"type":"object","properties":{"body":{}}}`, gateway.ArgV1{Name: "body", Key: "body", In: gateway.InBody, Required: required})
		tool.Body = gateway.BodyV1{Kind: gateway.WholeBody, ContentTypes: []string{"application/json"}, Required: required}
		return tool
	}
	tests := []struct {
		name      string
		tool      gateway.ToolV1
		arguments string
		want      string
	}{
		{"required object without members", object(true), `{}`, `{}`},
		{"required object, null member", object(true), `{"a":null}`, `{}`},
		{"optional object without members", object(false), `{}`, ``},
		{"optional object", object(false), `{"a":1}`, `{"a":1}`},
		{"whole", whole(true), `{"body":[ 1.0, {"b":1,"a":2} ]}`, `[ 1.0, {"b":1,"a":2} ]`},
		{"whole string", whole(true), `{"body":"x"}`, `"x"`},
		{"whole null", whole(true), `{"body":null}`, `null`},
		{"whole left out", whole(false), `{}`, ``},
		{"whole null is left out", whole(false), `{"body":null}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream := newAPI(t, respond(204, "", ""))
			g := newGateway(t, upstream.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{tt.tool}})
			r := call(t.Context(), t, g, caller(t), "t", tt.arguments)
			if r.Err != nil {
				t.Fatalf("got %s", r.Err.Envelope())
			}
			if got := upstream.one(t).body; got != tt.want {
				t.Errorf("sent %q, want %q", got, tt.want)
			}
		})
	}
}

// TestBodyIsWhatWentIn: whatever the properties are, upstream gets them byte for byte.
func TestBodyIsWhatWentIn(t *testing.T) {
	t.Parallel()
	upstream := newAPI(t, respond(204, "", ""))
	args := []gateway.ArgV1{{Name: "a", Key: "a", In: gateway.InBody}, {Name: "b", Key: "b", In: gateway.InBody}, {Name: "c", Key: "c", In: gateway.InBody}}
	tool := row("t", http.MethodPost, "/t", `{"type":"object","properties":{"a":{},"b":{},"c":{}}}`, args...)
	tool.Body = gateway.BodyV1{Kind: gateway.ObjectBody, ContentTypes: []string{"application/json"}, Required: true}
	g := newGateway(t, upstream.URL, gateway.CatalogV1{Tools: []gateway.ToolV1{tool}})
	who := caller(t)
	rapid.Check(t, func(rt *rapid.T) {
		var members, want []string
		for _, arg := range args {
			if !rapid.Bool().Draw(rt, "given") {
				continue
			}
			value := jsonValue(rt, 3)
			members = append(members, `"`+arg.Name+`" : `+value)
			if value != "null" {
				want = append(want, `"`+arg.Key+`":`+value)
			}
		}
		r := call(t.Context(), t, g, who, "t", "{"+strings.Join(members, ",")+"}")
		if r.Err != nil {
			rt.Fatalf("%s", r.Err.Envelope())
		}
		if got, want := upstream.one(t).body, "{"+strings.Join(want, ",")+"}"; got != want {
			rt.Fatalf("sent %s\nwant %s", got, want)
		}
	})
}

// jsonValue draws the text of a JSON value, with the spellings that a decoder loses.
func jsonValue(rt *rapid.T, depth int) string {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(rt, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false"}).Draw(rt, "literal")
	case 1:
		return rapid.SampledFrom([]string{"0", "-0", "1.0", "1e400", "9007199254740993", "1E-7", "0.10"}).Draw(rt, "number")
	case 2:
		return rapid.SampledFrom([]string{`""`, `"\u00e9"`, `"\/"`, `"\ud83d\ude00"`, `"<&>"`, "\"\u2028\"", `"a\\\"b"`}).Draw(rt, "escaped")
	case 3:
		text, _ := json.Marshal(rapid.String().Draw(rt, "string"))
		return string(text)
	case 4:
		var elements []string
		for range rapid.IntRange(0, 3).Draw(rt, "elements") {
			elements = append(elements, jsonValue(rt, depth-1))
		}
		return "[" + strings.Join(elements, " , ") + "]"
	}
	var members []string
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "secret", "deep", "ключ"}), 0, 4, rapid.ID[string]).Draw(rt, "keys") {
		members = append(members, `"`+key+`": `+jsonValue(rt, depth-1))
	}
	return "{" + strings.Join(members, ",\n") + "}"
}
