package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// contractOf is a contract with one tool, t, that takes one argument, a.
func contractOf(argument string) string {
	return toolOf(`{"type":"object","properties":{"a":` + argument + `},"additionalProperties":false}`)
}

func toolOf(inputSchema string) string {
	return `{"contractVersion":"1.0.0","server":"shop","tools":[{"name":"t","title":"T","description":"D.",
		"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true},
		"inputSchema":` + inputSchema + `,"method":"GET","path":"/v1/{x}","scopes":["s"],
		"errors":[{"status":404,"code":"http_4xx","when":"w"},{"status":401,"code":"unauthorized","when":"w"},{"code":"project_required","when":"w"}]}]}`
}

func diffOf(t *testing.T, old, new string) []ContractChange {
	t.Helper()
	d, err := DiffContracts([]byte(old), []byte(new))
	if err != nil {
		t.Fatal(err)
	}
	return d.Changes
}

func lines(changes []ContractChange) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s: %s\n", c.Class, c.Pointer, c.What)
	}
	return b.String()
}

// TestDiffTools edits the text of a contract.
func TestDiffTools(t *testing.T) {
	const two = `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	for _, c := range []struct{ name, old, new, want string }{
		{"argument removed", `,"b":{"type":"string"}`, ``, "breaking /inputSchema/properties/b: argument removed"},
		{"argument added", `"b":{`, `"c":{},"b":{`, "additive /inputSchema/properties/c: optional argument added"},
		{"required argument added", `"b":{"type":"string"}},"required":[`, `"b":{"type":"string"},"c":{}},"required":["c",`, "breaking /inputSchema/properties/c: required argument added"},
		{"newly required", `"required":["a"]`, `"required":["b","a"]`, `breaking /inputSchema/required: argument "b" newly required`},
		{"newly optional", `"required":["a"],`, ``, `additive /inputSchema/required: argument "a" no longer required`},
		{"title", `"title":"T"`, `"title":"U"`, "cosmetic /title: title changed"},
		{"description", `"D."`, `"E."`, "cosmetic /description: description changed"},
		{"version", `1.0.0`, `1.0.1`, `cosmetic /contractVersion: contractVersion changed from "1.0.0" to "1.0.1"`},
		{"server", `"shop"`, `"store"`, `cosmetic /server: server changed from "shop" to "store"`},
		{"reads only", `"readOnlyHint":false`, `"readOnlyHint":true`, "additive /annotations/readOnlyHint: readOnlyHint changed from false to true"},
		{"destroys", `"destructiveHint":false`, `"destructiveHint":true`, "breaking /annotations/destructiveHint: destructiveHint changed from false to true"},
		{"destroys unless said", `"destructiveHint":false,`, ``, "breaking /annotations/destructiveHint: destructiveHint changed from false to true"},
		{"idempotent", `"idempotentHint":false`, `"idempotentHint":true`, "additive /annotations/idempotentHint: idempotentHint changed from false to true"},
		{"closed world", `"openWorldHint":true`, `"openWorldHint":false`, "additive /annotations/openWorldHint: openWorldHint changed from true to false"},
		{"method", `"GET"`, `"POST"`, `breaking /method: method changed from "GET" to "POST"`},
		{"path", `/v1/`, `/v2/`, `breaking /path: path changed from "/v1/{x}" to "/v2/{x}"`},
		{"name in the path", `{x}`, `{y}`, `cosmetic /path: path changed from "/v1/{x}" to "/v1/{y}"`},
		{"scope added", `["s"]`, `["s","w"]`, "breaking /scopes: scope w newly needed"},
		{"scope removed", `["s"]`, `[]`, "additive /scopes: scope s no longer needed"},
		{"code", `404,"code":"http_4xx"`, `404,"code":"not_found"`, `breaking /errors: code of error 404 changed from "http_4xx" to "not_found"`},
		{"when", `"http_4xx","when":"w"`, `"http_4xx","when":"v"`, "cosmetic /errors: description of error 404 changed"},
		{"error removed", `{"status":404,"code":"http_4xx","when":"w"},`, ``, "additive /errors: error 404 removed"},
		{"mapped error removed", `{"status":401,"code":"unauthorized","when":"w"},`, ``, "breaking /errors: error 401 removed: its code was unauthorized"},
		{"error added", `"errors":[`, `"errors":[{"status":409,"code":"http_4xx"},`, "additive /errors: error 409 added"},
		{"mapped error added", `"errors":[`, `"errors":[{"status":422,"code":"invalid_arguments"},`, "breaking /errors: error 422 added with code invalid_arguments instead of http_4xx"},
		{"default error added", `"errors":[`, `"errors":[{"status":"default","code":"http_5xx"},`, "additive /errors: error default added"},
		{"own error added", `"errors":[`, `"errors":[{"code":"tenant_required"},`, "additive /errors: error tenant_required added"},
		{"renamed", `"name":"t"`, `"name":"u"`, "breaking /name: tool renamed to u"},
		{"moved", `"name":"t","title":"T"`, `"name":"u","title":"T","path":"/x","x":1`, "breaking /name: tool renamed to u\nadditive /x: x 1 added"},
		{"unknown member", `"method"`, `"retry":"never","method"`, `additive /retry: retry "never" added`},
		{"order", `{"status":404,"code":"http_4xx","when":"w"},{"status":401,"code":"unauthorized","when":"w"}`, `{"status":401,"code":"unauthorized","when":"w"},{"status":404,"code":"http_4xx","when":"w"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := toolOf(two)
			if !strings.Contains(old, c.old) {
				t.Fatalf("nothing to replace: %s", c.old)
			}
			if got := strings.TrimSpace(lines(diffOf(t, old, strings.Replace(old, c.old, c.new, 1)))); got != c.want {
				t.Errorf(" got %s\nwant %s", got, c.want)
			}
		})
	}
}

// An argument that fills another place of the path does something else.
func TestDiffOfSwappedPathParameters(t *testing.T) {
	old := strings.Replace(toolOf(`{}`), "/v1/{x}", "/v1/{x}/to/{y}", 1)
	got := lines(diffOf(t, old, strings.Replace(old, "{x}/to/{y}", "{y}/to/{x}", 1)))
	if got != "breaking /path: path changed from \"/v1/{x}/to/{y}\" to \"/v1/{y}/to/{x}\"\n" {
		t.Error(got)
	}
}

func TestDiffKnowsThatReadersDoNotDestroy(t *testing.T) {
	old := strings.Replace(toolOf(`{}`), `"readOnlyHint":false`, `"readOnlyHint":true`, 1)
	got := lines(diffOf(t, old, strings.Replace(old, `"destructiveHint":false`, `"destructiveHint":true`, 1)))
	if got != "cosmetic /annotations/destructiveHint: destructiveHint changed from false to true\n" {
		t.Error(got)
	}
	if got := lines(diffOf(t, old, toolOf(`{}`))); got != "breaking /annotations/readOnlyHint: readOnlyHint changed from true to false\n" {
		t.Error(got)
	}
}

func TestDiffOwnErrorWithANewArgument(t *testing.T) {
	old := toolOf(`{"properties":{}}`)
	next := strings.Replace(toolOf(`{"properties":{"tenant":{}}}`), `"errors":[`, `"errors":[{"code":"tenant_required"},`, 1)
	if got := lines(diffOf(t, old, next)); !strings.Contains(got, "breaking /errors: error tenant_required added with a new argument") {
		t.Error(got)
	}
}

func TestDiffStockContract(t *testing.T) {
	name := filepath.Join("..", "contracts", understoodStock(t), "mcp-tools.json")
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{``, ``, ``},
		{`"maxLength": 255`, `"maxLength": 200`, "breaking  create_queue_trigger /inputSchema/properties/name/maxLength: maxLength 255 became maxLength 200"},
		{`"name": "list_projects"`, `"name": "projects"`, "breaking  list_projects /name: tool renamed to projects"},
		{`"code": "unauthorized"`, `"code": "http_4xx"`, `breaking  trigger.complete /errors: code of error 401 changed from "unauthorized" to "http_4xx"`},
		{`"default": 10`, `"default": 20`, "breaking  create_queue_trigger /inputSchema/properties/prefetch/default: default changed from 10 to 20"},
		{`"title": "Create a queue trigger"`, `"title": "New"`, "cosmetic  create_queue_trigger /title: title changed"},
	} {
		d, err := DiffContracts(old, bytes.Replace(old, []byte(c.old), []byte(c.new), 1))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, change := range d.Changes {
			got = append(got, change.String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: got %q", c.want, got)
		}
	}
}

// understoodStock is the version of the stock contract.
func understoodStock(t *testing.T) string {
	t.Helper()
	a, err := stock(t).api()
	if err != nil {
		t.Fatal(err)
	}
	return a.root.ContractVersion
}

func TestDiffRefusesWhatIsNoContract(t *testing.T) {
	good := toolOf(`{}`)
	for bad, want := range map[string]string{
		"":                                      "it is empty",
		"{":                                     "unexpected EOF",
		"[]":                                    "cannot unmarshal array",
		"{}":                                    "it has no list of tools",
		`{"tools":{}}`:                          "cannot unmarshal object",
		`{"tools":[]} x`:                        "something follows",
		`{"tools":[1]}`:                         "tool 0",
		`{"tools":[{}]}`:                        "tool 0 has no name",
		`{"tools":[{"name":"a"},{"name":"a"}]}`: `two tools are named "a"`,
	} {
		for _, pair := range [][3]string{{bad, good, "old contract is no contract"}, {good, bad, "new contract is no contract"}} {
			_, err := DiffContracts([]byte(pair[0]), []byte(pair[1]))
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), pair[2]) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := DiffFiles(file, file); err == nil || !strings.HasPrefix(err.Error(), file) {
		t.Error(err)
	}
}

func TestDiffPrint(t *testing.T) {
	d := &Diff{Changes: []ContractChange{{Breaking, "t\x1b[31m", "", "tool removed"}, {Additive, "u", "/scopes", "scope s no longer needed"}}}
	var b bytes.Buffer
	d.Print(&b)
	if want := "breaking  t\ufffd[31m: tool removed\nadditive  u /scopes: scope s no longer needed\n\n1 breaking, 1 additive, 0 cosmetic\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
	got, _ := json.Marshal(d.Changes[1])
	if string(got) != `{"class":"additive","tool":"u","pointer":"/scopes","what":"scope s no longer needed"}` {
		t.Errorf("%s", got)
	}
	none, err := DiffContracts([]byte(toolOf(`{}`)), []byte(toolOf(`{}`)))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(none); string(got) != `{"changes":[]}` || none.Breaking() {
		t.Errorf("%s", got)
	}
	b.Reset()
	if none.Print(&b); b.String() != "no changes\n" {
		t.Errorf("%q", b.String())
	}
}

func TestDiffAddedAndRemovedToolsInOrder(t *testing.T) {
	tool := func(names ...string) string {
		var list []string
		for _, n := range names {
			list = append(list, fmt.Sprintf(`{"name":%q,"method":"GET","path":"/%s"}`, n, n))
		}
		return `{"tools":[` + strings.Join(list, ",") + `]}`
	}
	var got []string
	for _, c := range diffOf(t, tool("d", "c", "b"), tool("z", "b", "a")) {
		got = append(got, c.String())
	}
	want := []string{"breaking  c: tool removed", "breaking  d: tool removed", "additive  a: tool added", "additive  z: tool added"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
