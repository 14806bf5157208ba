package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/postern-mcp/postern/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

const (
	key       = "key-of-the-test"
	noContent = `{"status":204}`
)

// powerDNS starts a PowerDNS with an empty database.
func powerDNS(t *testing.T) exampletest.API {
	t.Helper()
	const schema = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql"
	exampletest.Needs(t, "pdns_server", "sqlite3")
	dir := t.TempDir()
	db := filepath.Join(dir, "pdns.sqlite3")
	if out, err := exec.Command("sqlite3", db, ".read "+schema).CombinedOutput(); err != nil {
		t.Fatalf("sqlite3: %v\n%s", err, out)
	}
	address := exampletest.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	_, dns, err := net.SplitHostPort(exampletest.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`launch=gsqlite3
gsqlite3-database=%s
gsqlite3-dnssec=yes
api=yes
api-key=%s
webserver=yes
webserver-address=127.0.0.1
webserver-port=%s
local-address=127.0.0.1
local-port=%s
socket-dir=%s
security-poll-suffix=
daemon=no
guardian=no
`, db, key, port, dns, dir)
	if err := os.WriteFile(filepath.Join(dir, "pdns.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	exampletest.Start(t, "http://"+address+"/api", "pdns_server", "--config-dir="+dir)
	return exampletest.API{Base: "http://" + address + "/api/v1", Authorize: func(r *http.Request) { r.Header.Set("X-API-Key", key) }}
}

func TestPowerDNS(t *testing.T) {
	direct := powerDNS(t)
	upstream := "PDNS_API_URL=" + strings.TrimSuffix(direct.Base, "/api/v1")
	endpoint := exampletest.Serve(t, upstream, "PDNS_SERVER=localhost")

	t.Run("stdio", func(t *testing.T) {
		zones(t, direct, exampletest.OverStdio(t, upstream, "PDNS_SERVER=localhost", "PDNS_TOKEN="+key), "stdio.example.")
	})
	t.Run("http", func(t *testing.T) {
		zones(t, direct, exampletest.OverHTTP(t, endpoint, "Bearer "+key), "http.example.")
	})
	t.Run("wrong key", func(t *testing.T) {
		for name, a := range map[string]exampletest.Agent{
			"stdio": exampletest.OverStdio(t, upstream, "PDNS_SERVER=localhost", "PDNS_TOKEN=wrong-key"),
			"http":  exampletest.OverHTTP(t, endpoint, "Bearer wrong-key"),
		} {
			e := a.Refused(t, "list_zones", `{}`, "http_4xx", http.StatusUnauthorized)
			if strings.Contains(e.Text, "wrong-key") {
				t.Errorf("%s: the key is in the error: %s", name, e.Text)
			}
		}
	})
	t.Run("no key", func(t *testing.T) {
		resp, err := http.Post(endpoint, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("got %s, want 401 with a challenge", resp.Status)
		}
		exampletest.OverStdio(t, upstream, "PDNS_SERVER=localhost").Refused(t, "list_zones", `{}`, "unauthorized", 0)
	})
	t.Run("no server", func(t *testing.T) {
		a := exampletest.OverStdio(t, upstream, "PDNS_TOKEN="+key)
		e := a.Refused(t, "list_zones", `{}`, "project_required", 0)
		if len(e.Error.Candidates) != 1 || e.Error.Candidates[0] != "localhost" {
			t.Errorf("candidates: %v", e.Error.Candidates)
		}
		a.Answers(t, "list_zones", `{"server_id":"localhost"}`, direct.Get(t, "/servers/localhost/zones"))
	})
}

// zones lists, creates, reads, changes and deletes, and is refused.
func zones(t *testing.T, direct exampletest.API, a exampletest.Agent, zone string) {
	path := "/servers/localhost/zones/" + zone
	args := func(format string, v ...any) string { return fmt.Sprintf(format, v...) }

	tools, err := a.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) == 0 {
		t.Fatalf("no tools: %v", err)
	}
	for _, tool := range tools.Tools {
		if tool.Name == "get_config" || tool.Name == "error" {
			t.Errorf("%s is offered", tool.Name)
		}
	}
	if _, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_config"}); err == nil {
		t.Error("get_config can be called")
	}

	a.Answers(t, "list_servers", `{}`, direct.Get(t, "/servers"))
	a.Answers(t, "read_server", `{}`, direct.Get(t, "/servers/localhost"))

	// Create.
	create := args(`{"name":%q,"kind":"Native","nameservers":["ns1.%s"]}`, zone, zone)
	created, failed := a.Call(t, "create_zone", create)
	if failed || created != direct.Get(t, path) {
		t.Fatalf("create_zone:\ngot  %s\nread %s", created, direct.Get(t, path))
	}
	a.Answers(t, "list_zones", `{}`, direct.Get(t, "/servers/localhost/zones"))
	a.Answers(t, "list_zones", args(`{"zone":%q,"dnssec":false}`, zone), direct.Get(t, "/servers/localhost/zones?dnssec=false&zone="+zone))

	// Change: 204, and the API has it.
	a.Answers(t, "change_records", args(`{"zone_id":%q,"rrsets":[{"name":"www.%s","type":"A","ttl":300,"changetype":"REPLACE",
		"records":[{"content":"192.0.2.7"},{"content":"192.0.2.8","disabled":true}],"comments":[{"content":"naïve ☂","account":"a"}]}]}`, zone, zone), noContent)
	if got := direct.Get(t, path); !strings.Contains(got, "192.0.2.7") || !strings.Contains(got, "192.0.2.8") {
		t.Errorf("the records did not arrive: %s", got)
	}
	a.Answers(t, "change_zone", args(`{"zone_id":%q,"kind":"Master","account":"agents"}`, zone), noContent)
	if got := direct.Get(t, path); !strings.Contains(got, `"account":"agents"`) || !strings.Contains(got, `"kind":"Master"`) {
		t.Errorf("the settings did not arrive: %s", got)
	}

	// Read.
	a.Answers(t, "read_zone", args(`{"zone_id":%q}`, zone), direct.Get(t, path))
	a.Answers(t, "read_zone", args(`{"zone_id":%q,"rrset_name":"www.%s","rrset_type":"A"}`, zone, zone), direct.Get(t, path+"?rrset_type=A&rrset_name=www."+zone))
	a.Answers(t, "search", args(`{"q":"www.%s","max":10,"object_type":"record"}`, zone), direct.Get(t, "/servers/localhost/search-data?max=10&object_type=record&q=www."+zone))
	a.Answers(t, "export_zone", args(`{"zone_id":%q}`, zone), direct.Get(t, path+"/export"))

	// Metadata: a second resource below the zone.
	// (The document promises 204 without content here; the server answers 201 with it.)
	a.Answers(t, "create_metadata", args(`{"zone_id":%q,"kind":"ALSO-NOTIFY","metadata":["192.0.2.1:5300"]}`, zone), `{"kind":"ALSO-NOTIFY","metadata":["192.0.2.1:5300"],"type":"Metadata"}`)
	a.Answers(t, "list_metadata", args(`{"zone_id":%q}`, zone), direct.Get(t, path+"/metadata"))
	a.Answers(t, "read_metadata", args(`{"zone_id":%q,"metadata_kind":"ALSO-NOTIFY"}`, zone), direct.Get(t, path+"/metadata/ALSO-NOTIFY"))

	// Secrets: the API answers them, the tool does not.
	if answer, failed := a.Call(t, "create_cryptokey", args(`{"zone_id":%q,"keytype":"csk","active":true}`, zone)); failed || strings.Contains(answer, "rivate") {
		t.Errorf("create_cryptokey: %s", answer)
	}
	keys := direct.Get(t, path+"/cryptokeys")
	a.Answers(t, "list_cryptokeys", args(`{"zone_id":%q}`, zone), keys)
	var id int
	if _, err := fmt.Sscanf(keys[strings.Index(keys, `"id":`):], `"id":%d`, &id); err != nil {
		t.Fatalf("no key: %s", keys)
	}
	got, failed := a.Call(t, "read_cryptokey", args(`{"zone_id":%q,"cryptokey_id":"%d"}`, zone, id))
	if want := exampletest.Without(t, direct.Get(t, fmt.Sprintf("%s/cryptokeys/%d", path, id)), "privatekey"); failed || exampletest.Without(t, got) != want {
		t.Errorf("read_cryptokey:\ngot  %s\nwant %s", got, want)
	}

	// The refusals are the API's own.
	e := a.Refused(t, "create_zone", create, "http_4xx", http.StatusConflict)
	if status, want := direct.Do(t, http.MethodPost, "/servers/localhost/zones", create); status != http.StatusConflict || string(e.Error.Upstream) != want {
		t.Errorf("409:\ngot  %s\nwant %d %s", e.Error.Upstream, status, want)
	}
	if !strings.Contains(e.Error.Hint, "change_records") {
		t.Errorf("409: %+v", e.Error)
	}
	bad := args(`"rrsets":[{"name":"www.%s","type":"A","ttl":300,"changetype":"REPLACE","records":[{"content":"no address"}]}]`, zone)
	e = a.Refused(t, "change_records", args(`{"zone_id":%q,%s}`, zone, bad), "http_4xx", http.StatusUnprocessableEntity)
	if status, want := direct.Do(t, http.MethodPatch, path, "{"+bad+"}"); status != http.StatusUnprocessableEntity || string(e.Error.Upstream) != want {
		t.Errorf("422:\ngot  %s\nwant %d %s", e.Error.Upstream, status, want)
	}
	e = a.Refused(t, "read_zone", `{"zone_id":"nobody.example."}`, "http_4xx", http.StatusNotFound)
	if status, _ := direct.Do(t, http.MethodGet, "/servers/localhost/zones/nobody.example.", ""); status != http.StatusNotFound || !strings.Contains(e.Error.Hint, "list_zones") {
		t.Errorf("404: %+v", e.Error)
	}

	// And some never reach it.
	e = a.Refused(t, "change_records", args(`{"zone_id":%q,"rrsets":[{"name":"www.%s","type":"A","changetype":"APPEND"}]}`, zone, zone), "invalid_arguments", 0)
	if e.Error.Pointer != "/rrsets/0/changetype" || e.Error.Delivery != "not_sent" {
		t.Errorf("changetype: %+v", e.Error)
	}
	for _, id := range []string{"", ".", "..", "%2e%2e"} {
		a.Refused(t, "delete_zone", args(`{"zone_id":%q}`, id), "invalid_arguments", 0)
	}

	// Delete.
	a.Answers(t, "change_records", args(`{"zone_id":%q,"rrsets":[{"name":"www.%s","type":"A","changetype":"DELETE"}]}`, zone, zone), noContent)
	if got := direct.Get(t, path); strings.Contains(got, "192.0.2.7") {
		t.Errorf("the records are still there: %s", got)
	}
	a.Answers(t, "delete_zone", args(`{"zone_id":%q}`, zone), noContent)
	if status, _ := direct.Do(t, http.MethodGet, path, ""); status != http.StatusNotFound {
		t.Errorf("the zone is still there: %d", status)
	}
}
