package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rules of null, omission and emptiness, for whatever the contract lists.

func TestNullForAnOptionalArgumentIsOmission(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any", project: "from-env"})
		for _, tool := range contract() {
			all := map[string]string{}
			for _, name := range tool.names() {
				if !tool.required(name) {
					all[name] = "null"
				}
			}
			p.ok(t, tool.Name, tool.arguments(nil))
			p.ok(t, tool.Name, tool.arguments(all))
			sent := up.take()
			if diff := cmp.Diff(sent[0], sent[1]); diff != "" {
				t.Errorf("%s, all null:\n%s", tool.Name, diff)
			}
			for optional := range all {
				p.ok(t, tool.Name, tool.arguments(map[string]string{optional: "null"}))
				if diff := cmp.Diff(sent[:1], up.take()); diff != "" {
					t.Errorf("%s, %s null:\n%s", tool.Name, optional, diff)
				}
				value := tool.InputSchema.Properties[optional].example()
				p.ok(t, tool.Name, tool.arguments(map[string]string{optional: value}))
				got := up.take()
				if len(got) != 1 || cmp.Equal(sent[0], got[0]) || !carries(got[0], optional, value) {
					t.Errorf("%s: %s %s does not arrive: %+v", tool.Name, optional, value, got)
				}
			}
		}
	})
}

// carries reports whether a request holds an argument in its body, query or path.
func carries(r request, name, value string) bool {
	text := strings.Trim(value, `"`)
	return strings.Contains(r.Body, `"`+name+`":`+value) ||
		strings.HasSuffix(strings.ReplaceAll(r.URI, "?", "&")+"&", "&"+name+"="+text+"&") ||
		name == "project" && strings.HasPrefix(r.URI, "/v1/projects/"+text+"/")
}

func TestEmptyValuesAreValuesNotOmissions(t *testing.T) {
	t.Parallel()
	up := record(t, nil)
	p := dial(t, way{"stdio", modern}, settings{api: up.url, token: "any", project: "from-env"})
	for _, tool := range contract() {
		p.ok(t, tool.Name, tool.arguments(nil))
		omitted := up.take()[0]
		for _, argument := range tool.names() {
			schema := tool.InputSchema.Properties[argument]
			for jsonType, empty := range map[string]string{"string": `""`, "array": `[]`, "object": `{}`, "integer": "0", "boolean": "false"} {
				r := p.call(t, tool.Name, tool.arguments(map[string]string{argument: empty}))
				sent := up.take()
				switch {
				case r.failure.Code == "invalid_arguments": // by its type, or as too short
					if r.failure.Pointer != "/"+argument || len(sent) != 0 {
						t.Errorf("%s, %s %s: %s, sent %+v", tool.Name, argument, empty, r.text, sent)
					}
				case r.isError || len(sent) != 1 || !schema.takes(jsonType):
					t.Errorf("%s, %s %s: %s, sent %+v", tool.Name, argument, empty, r.text, sent)
				case cmp.Equal(sent[0], omitted) || !carries(sent[0], argument, empty):
					t.Errorf("%s: %s %s does not arrive: %+v", tool.Name, argument, empty, sent[0])
				}
			}
		}
	}
}

func TestNullForARequiredArgumentIsRefusedUnlessItTakesAnything(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "any", project: "from-env"})
		for _, tool := range contract() {
			for _, argument := range tool.InputSchema.Required {
				r := p.call(t, tool.Name, tool.arguments(map[string]string{argument: "null"}))
				sent := up.take()
				if tool.InputSchema.Properties[argument].Type == nil { // payload: null is a message
					if r.isError || len(sent) != 1 || sent[0].Body != `{"`+argument+`":null}` {
						t.Errorf("%s, %s null: %s, sent %+v", tool.Name, argument, r.raw, sent)
					}
					continue
				}
				if f := r.failure; f.Code != "invalid_arguments" || f.Pointer != "/"+argument || f.Expected == "" || len(sent) != 0 {
					t.Errorf("%s, %s null: %s, sent %+v", tool.Name, argument, r.raw, sent)
				}
			}
			for _, argument := range tool.InputSchema.Required {
				arguments := strings.Replace(tool.arguments(nil), `"`+argument+`":`, `"misspelt":`, 1)
				if f := p.call(t, tool.Name, arguments).failure; f.Code != "invalid_arguments" || len(up.take()) != 0 {
					t.Errorf("%s without %s: %+v", tool.Name, argument, f)
				}
			}
		}
	})
}

func TestOnlyThePayloadIsRequiredAndTakesNull(t *testing.T) {
	t.Parallel()
	for _, tool := range contract() {
		for argument, schema := range tool.InputSchema.Properties {
			if takesNull := schema.takes("null"); takesNull == tool.required(argument) && tool.Name+" "+argument != "publish_queue_message payload" {
				t.Errorf("%s, %s: required %v, takes null %v", tool.Name, argument, tool.required(argument), takesNull)
			}
		}
	}
}

// The request of every tool is the operation of its contract entry and carries
// nothing but what it should.
func TestEveryToolSendsTheRequestOfItsContract(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, w way) {
		up := record(t, nil)
		p := dial(t, w, settings{api: up.url, token: "secret-pat", project: "from-env"})
		p.header.Set("Cookie", "a=b")
		p.header.Set("X-Forwarded-For", "192.0.2.1")
		for _, tool := range contract() {
			given := map[string]string{}
			for _, argument := range tool.names() {
				given[argument] = tool.InputSchema.Properties[argument].example()
			}
			p.ok(t, tool.Name, tool.arguments(given))
			got := up.take()
			if len(got) != 1 {
				t.Fatalf("%s: %d requests", tool.Name, len(got))
			}
			want := expect(t, tool, tool.arguments(given))
			if diff := want.differs(got[0]); diff != "" {
				t.Errorf("%s: %s", tool.Name, diff)
			}
			if got[0].Header.Get("Authorization") != "Bearer secret-pat" {
				t.Errorf("%s: headers %v", tool.Name, got[0].Header)
			}
		}
	})
}

// asMap decodes arguments, values kept as spelled.
func asMap(t testing.TB, object string) (m map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		t.Fatalf("%v: %.200s", err, object)
	}
	return m
}
