package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/postern-mcp/postern/internal/exampletest"
)

func TestMain(m *testing.M) { exampletest.Main(m, main) }

const (
	user     = "agent"
	password = "correct horse"
	// bcrypt of password, at the lowest cost.
	hashed = "$2b$04$qRyXjPlSr126PXGB.upmpOAgvM8cXPpKDr3T6jTJhYFyOPS/ZbMba"
)

// alertmanager starts an Alertmanager that asks for a user and a password.
func alertmanager(t *testing.T) exampletest.API {
	t.Helper()
	const program = "prometheus-alertmanager"
	exampletest.Needs(t, program)
	dir := t.TempDir()
	for name, content := range map[string]string{
		"am.yml": `route: {receiver: nobody, group_by: [alertname], group_wait: 0s, group_interval: 1s}
receivers: [{name: nobody}]
`,
		"web.yml": fmt.Sprintf("basic_auth_users: {%s: %s}\n", user, hashed),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := exampletest.FreeAddress(t)
	exampletest.Start(t, "http://"+address+"/-/ready", program,
		"--config.file="+filepath.Join(dir, "am.yml"), "--web.config.file="+filepath.Join(dir, "web.yml"),
		"--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address=")
	return exampletest.API{Base: "http://" + address + "/api/v2", Authorize: func(r *http.Request) { r.SetBasicAuth(user, password) }}
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestAlertmanager(t *testing.T) {
	direct := alertmanager(t)
	upstream := "ALERTMANAGER_API_URL=" + strings.TrimSuffix(direct.Base, "/api/v2")
	endpoint := exampletest.Serve(t, upstream)

	t.Run("stdio", func(t *testing.T) {
		silences(t, direct, exampletest.OverStdio(t, upstream, "ALERTMANAGER_USERNAME="+user, "ALERTMANAGER_PASSWORD="+password), "Stdio")
	})
	t.Run("http", func(t *testing.T) {
		silences(t, direct, exampletest.OverHTTP(t, endpoint, basic(user, password)), "HTTP")
	})
	t.Run("wrong password", func(t *testing.T) {
		for name, a := range map[string]exampletest.Agent{
			"stdio": exampletest.OverStdio(t, upstream, "ALERTMANAGER_USERNAME="+user, "ALERTMANAGER_PASSWORD=wrong-password"),
			"http":  exampletest.OverHTTP(t, endpoint, basic(user, "wrong-password")),
		} {
			e := a.Refused(t, "list_alerts", `{}`, "http_4xx", http.StatusUnauthorized)
			if strings.Contains(e.Text, "wrong-password") || strings.Contains(e.Text, strings.TrimPrefix(basic(user, "wrong-password"), "Basic ")) {
				t.Errorf("%s: the password is in the error: %s", name, e.Text)
			}
		}
	})
	t.Run("no password", func(t *testing.T) {
		resp, err := http.Post(endpoint, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("got %s, want 401 with a challenge", resp.Status)
		}
		exampletest.OverStdio(t, upstream).Refused(t, "list_alerts", `{}`, "unauthorized", 0)
	})
}

// silences lists, creates, reads, changes and deletes, and is refused.
func silences(t *testing.T, direct exampletest.API, a exampletest.Agent, name string) {
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) == 0 {
		t.Fatalf("no tools: %v", err)
	}

	// The configuration stays where it is; everything else is the API's answer.
	status, failed := a.Call(t, "read_status", `{}`)
	if want := exampletest.Without(t, direct.Get(t, "/status"), "config"); failed || exampletest.Without(t, status) != want {
		t.Errorf("read_status:\ngot  %s\nwant %s", status, want)
	}
	a.Answers(t, "list_receivers", `{}`, direct.Get(t, "/receivers"))

	// Alerts: the body is an array, the filter too, and an empty success is no error.
	a.Answers(t, "post_alerts", fmt.Sprintf(`{"body":[
		{"labels":{"alertname":"%[1]s","severity":"critical","instance":"a,b & c"},"annotations":{"summary":"ünïcödé ☂"},"generatorURL":"http://example.org/?a=1&b=2"},
		{"labels":{"alertname":"%[1]s","severity":"warning"}}]}`, name), `{"status":200}`)
	one := fmt.Sprintf(`alertname="%s"`, name)
	both := url.Values{"filter": {one, `severity=~"crit.*|none"`}}.Encode()
	want := direct.Get(t, "/alerts?"+both)
	if count(t, want) != 1 || !strings.Contains(want, `a,b \u0026 c`) {
		t.Errorf("the alert did not arrive: %s", want)
	}
	a.Answers(t, "list_alerts", fmt.Sprintf(`{"filter":[%q,"severity=~\"crit.*|none\""]}`, one), want)
	if all := direct.Get(t, "/alerts?"+url.Values{"filter": {one}}.Encode()); count(t, all) != 2 {
		t.Errorf("the alerts did not arrive: %s", all)
	}
	a.Answers(t, "list_alerts", fmt.Sprintf(`{"filter":[%q],"active":false}`, one), "[]")
	groups := "/alerts/groups?" + url.Values{"filter": {one}}.Encode()
	for range 100 {
		if count(t, direct.Get(t, groups)) > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	a.Answers(t, "list_alert_groups", fmt.Sprintf(`{"filter":[%q]}`, one), direct.Get(t, groups))

	// Create a silence.
	now := time.Now().UTC()
	silence := func(id, comment string) string {
		return fmt.Sprintf(`{%s"matchers":[{"name":"alertname","value":%q,"isRegex":false}],"startsAt":%q,"endsAt":%q,"createdBy":"the test","comment":%q}`,
			id, name, now.Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339), comment)
	}
	id := silenceID(t, a, silence("", "first"))
	a.Answers(t, "read_silence", fmt.Sprintf(`{"silenceID":%q}`, id), direct.Get(t, "/silence/"+id))
	a.Answers(t, "list_silences", fmt.Sprintf(`{"filter":[%q],"expired":false}`, one), direct.Get(t, "/silences?"+url.Values{"filter": {one}}.Encode()))
	if got := direct.Get(t, "/silence/"+id); !strings.Contains(got, `"comment":"first"`) || !strings.Contains(got, `"state":"active"`) {
		t.Errorf("the silence did not arrive: %s", got)
	}
	a.Answers(t, "list_alerts", fmt.Sprintf(`{"filter":[%q],"silenced":false}`, one), "[]")

	// Change it.
	id = silenceID(t, a, silence(fmt.Sprintf(`"id":%q,`, id), "second"))
	if got := direct.Get(t, "/silence/"+id); !strings.Contains(got, `"comment":"second"`) {
		t.Errorf("the change did not arrive: %s", got)
	}
	a.Answers(t, "read_silence", fmt.Sprintf(`{"silenceID":%q}`, id), direct.Get(t, "/silence/"+id))

	// The refusals are the API's own.
	const nobody = "00000000-0000-4000-8000-000000000000"
	e := a.Refused(t, "read_silence", fmt.Sprintf(`{"silenceID":%q}`, nobody), "http_4xx", http.StatusNotFound)
	if status, _ := direct.Do(t, http.MethodGet, "/silence/"+nobody, ""); status != http.StatusNotFound || !strings.Contains(e.Error.Hint, "list_silences") {
		t.Errorf("404: %d, %+v", status, e.Error)
	}
	unknown := silence(fmt.Sprintf(`"id":%q,`, nobody), "nobody's")
	sameRefusal(t, direct, a.Refused(t, "set_silence", unknown, "http_4xx", http.StatusNotFound), http.MethodPost, "/silences", unknown)
	backwards := strings.Replace(silence("", "ends before it starts"), now.Add(time.Hour).Format(time.RFC3339), now.Add(-time.Hour).Format(time.RFC3339), 1)
	sameRefusal(t, direct, a.Refused(t, "set_silence", backwards, "http_4xx", http.StatusBadRequest), http.MethodPost, "/silences", backwards)
	sameRefusal(t, direct, a.Refused(t, "list_alerts", `{"filter":["="]}`, "http_4xx", http.StatusBadRequest), http.MethodGet, "/alerts?filter=%3D", "")
	sameRefusal(t, direct, a.Refused(t, "read_silence", `{"silenceID":"no-uuid"}`, "http_4xx", http.StatusUnprocessableEntity), http.MethodGet, "/silence/no-uuid", "")

	// And some never reach it.
	if e := a.Refused(t, "set_silence", `{"comment":"no matchers"}`, "invalid_arguments", 0); e.Error.Delivery != "not_sent" {
		t.Errorf("without matchers: %+v", e.Error)
	}
	for _, id := range []string{"", ".", "..", "%2e%2e"} {
		a.Refused(t, "expire_silence", fmt.Sprintf(`{"silenceID":%q}`, id), "invalid_arguments", 0)
	}

	// Delete it.
	a.Answers(t, "expire_silence", fmt.Sprintf(`{"silenceID":%q}`, id), `{"status":200}`)
	if got := direct.Get(t, "/silence/"+id); !strings.Contains(got, `"state":"expired"`) {
		t.Errorf("the silence is not expired: %s", got)
	}
	a.Answers(t, "read_silence", fmt.Sprintf(`{"silenceID":%q}`, id), direct.Get(t, "/silence/"+id))
}

// silenceID creates or changes a silence.
func silenceID(t *testing.T, a exampletest.Agent, arguments string) string {
	t.Helper()
	text, failed := a.Call(t, "set_silence", arguments)
	var answer struct{ SilenceID string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || failed || answer.SilenceID == "" {
		t.Fatalf("set_silence: %s", text)
	}
	return answer.SilenceID
}

// sameRefusal compares the API's body in an envelope with what the API answers.
func sameRefusal(t *testing.T, direct exampletest.API, e exampletest.Envelope, method, path, body string) {
	t.Helper()
	status, want := direct.Do(t, method, path, body)
	if status != e.Error.Status || string(e.Error.Upstream) != want {
		t.Errorf("%s %s:\ngot  %d %s\nwant %d %s", method, path, e.Error.Status, e.Error.Upstream, status, want)
	}
}

func count(t *testing.T, array string) int {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(array), &list); err != nil {
		t.Fatalf("%v: %s", err, array)
	}
	return len(list)
}
