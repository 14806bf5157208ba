package openapi

import (
	"strings"
	"testing"
)

func TestOperationsAreChosenByAnyOfTheirNames(t *testing.T) {
	t.Parallel()
	doc := minimal + `paths:
  /a: {get: {operationId: listThings, tags: [t]}, post: {tags: [t]}}
  /b: {get: {x-mcp: {tool: b.read}}, put: {operationId: broken, parameters: [{$ref: '#/nowhere'}]}}
`
	for name, c := range map[string]struct {
		filter Filter
		want   string
		left   int
	}{
		"all":                       {Filter{}, "b.read list_things post_a", 1},
		"by operationId":            {Filter{IncludeOps: []string{"listThings"}}, "list_things", 0},
		"by the tool's name":        {Filter{IncludeOps: []string{"list_things", "post_a", "b.read"}}, "b.read list_things post_a", 0},
		"by tag, less one":          {Filter{IncludeTags: []string{"t"}, ExcludeOps: []string{"post_a"}}, "list_things", 0},
		"without what is left out":  {Filter{ExcludeOps: []string{"broken"}}, "b.read list_things post_a", 0},
		"what is left out is named": {Filter{IncludeOps: []string{"broken", "post_a"}}, "post_a", 1},
	} {
		d, err := Parse([]byte(doc), "doc")
		if err != nil {
			t.Fatal(err)
		}
		d.Choose(c.filter)
		a, err := d.api()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range a.tools {
			names = append(names, tool.name)
		}
		if got := strings.Join(names, " "); got != c.want || len(a.left) != c.left {
			t.Errorf("%s: %s, %d left out", name, got, len(a.left))
		}
	}
}

func TestDerivedNamesKeepToTheirLimit(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+`paths:
  /a: {get: {operationId: thisNameHasExactlyMoreThanFortyCharsInItAbcdefghij}, head: {operationId: thisNameHasExactlyMoreThanFortyCharsInItAbcdefghij}, put: {operationId: thisNameHasFortyEightCharactersInItAbcdefghijklm}, post: {operationId: thisNameHasFortyEightCharactersInItAbcdefghijklm}}
`)
	seen := map[string]bool{}
	for _, tool := range a.tools {
		if len(tool.name) > maxToolName || seen[tool.name] {
			t.Errorf("%d characters: %s", len(tool.name), tool.name)
		}
		seen[tool.name] = true
	}
}

func TestOddPlaceholders(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+`paths:
  /c/{id?}: {get: {operationId: c, parameters: [{name: id, in: path, required: true, schema: {type: integer}}]}}
  /j/{a}/{a}: {get: {operationId: j}}
  /k/{true}/{false}: {get: {operationId: k}}
`)
	if len(a.left) != 1 || a.left[0].Reason != "line 7: the path has two places for {a}" || len(a.tools) != 2 {
		t.Fatalf("%+v", a.left)
	}
	if got := string(appendJSON(nil, a.tools[0].inputSchema)); a.tools[0].path != "/c/{id}" || !strings.Contains(got, `"id":{"type":"integer"}`) {
		t.Error(a.tools[0].path, got)
	}
	if _, err := a.client(); err != nil {
		t.Error(err)
	}
}

func TestBodiesOfSeveralSchemas(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+`paths:
  /a: {post: {operationId: upload, requestBody: {required: true, content: {
    multipart/form-data: {schema: {type: object, properties: {f: {type: string, format: binary}}}},
    application/json: {schema: {type: object, properties: {url: {type: string}}}},
    text/plain: {schema: {type: string}},
    application/xml: {schema: {type: object, properties: {url: {type: string}}}}}}}}
`)
	got := string(appendJSON(nil, a.tools[0].inputSchema))
	want := `{"type":"object","properties":{"body":{"anyOf":[` +
		`{"type":"object","description":"With content_type application/json.","properties":{"url":{"type":"string"}}},` +
		`{"type":"object","description":"With content_type multipart/form-data.","properties":{"f":{"type":"string","contentEncoding":"base64"}}},` +
		`{"type":"string","description":"With content_type text/plain."}]},` +
		`"content_type":{"type":["string","null"],"description":"How the body is written; application/json when left out.","enum":["application/json","multipart/form-data","text/plain",null]}},` +
		`"required":["body"],"additionalProperties":false}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(a.tools[0].body.parts) != 1 || !a.tools[0].body.parts[0].file {
		t.Errorf("%+v", a.tools[0].body)
	}
}

func TestAlternativeSecurity(t *testing.T) {
	t.Parallel()
	a := understood(t, minimal+`paths:
  /a: {get: {operationId: a, security: [{basic: []}, {}, {key: []}, {key: [], token: []}]}}
  /b: {get: {operationId: b, security: [{}]}}
components: {securitySchemes: {key: {type: apiKey, in: header, name: K}, token: {type: http, scheme: bearer}, basic: {type: http, scheme: basic}}}
`)
	if way := a.tools[0].auth; way.kind != "Basic" || !way.optional || len(way.others) != 1 || way.others[0].kind != "Header" || way.others[0].name != "K" {
		t.Errorf("%+v", way)
	}
	if a.tools[1].auth != nil {
		t.Errorf("%+v", a.tools[1].auth)
	}
}
