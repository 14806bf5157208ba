package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestConversations compares conversations byte for byte. Each file of testdata
// is a topic; its section "calls" is written by hand, the others by -update:
//
//	-- calls --
//	tools/call {"name":"list_projects","arguments":{}}
//	until succeeded: tools/call …           repeated until its answer holds a word
//	as viewer: tools/call …                 with another token
//	-- 2025-11-25 --                        messages, the same over stdio and HTTP
//	> {"jsonrpc":"2.0",…                    from the client
//	< {"jsonrpc":"2.0",…                    from the gateway
//
// $name in a call is the text of that name in the answers before. What differs
// from run to run stands as a placeholder.
func TestConversations(t *testing.T) {
	t.Parallel()
	for _, topic := range topics(t) {
		for _, revision := range []string{legacy, modern} {
			t.Run(topic+"/"+revision, func(t *testing.T) {
				t.Parallel()
				conversation(t, topic, revision)
			})
		}
	}
}

// topics are the files; every tool must have one, and nothing else may.
func topics(t *testing.T) []string {
	t.Helper()
	want := []string{"initialize", "list", "refused"}
	for _, tool := range contract() {
		want = append(want, tool.Name)
	}
	var got []string
	files, _ := filepath.Glob("testdata/*")
	for _, file := range files {
		got = append(got, strings.TrimSuffix(filepath.Base(file), ".txtar"))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("testdata: - has no file, + is an orphan\n%s", diff)
	}
	return got
}

func conversation(t *testing.T, topic, revision string) {
	file := filepath.Join("testdata", topic+".txtar")
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	calls, want := section(archive, "calls"), section(archive, revision)
	got := converse(t, way{"stdio", revision}, calls)
	if diff := cmp.Diff(got, converse(t, way{"http", revision}, calls)); diff != "" {
		t.Errorf("- stdio, + HTTP\n%s", diff)
	}
	if *update {
		write(t, file, revision, got)
	} else if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: - file, + now (-update writes it)\n%s", file, diff)
	}
}

func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// converse has the conversation with a gateway and a control plane of its own.
func converse(t *testing.T, w way, calls string) string {
	t.Helper()
	s := settings{api: plane(t), token: pat("full"), project: "mcp-lab"}
	peers := map[string]*peer{}
	var log strings.Builder
	watch := func(direction, message string) { log.WriteString(direction + " " + stable(message) + "\n") }
	as := func(token string) *peer {
		if peers[token] == nil {
			s.token = pat(token)
			peers[token] = newPeer(t, w, s)
			peers[token].watch = watch
			if token != "full" {
				peers[token].watch = nil // the same handshake once more is of no interest
			}
			if w.revision == legacy {
				peers[token].initialize(t)
			}
			peers[token].watch = watch
		}
		return peers[token]
	}
	known := map[string]string{}
	for line := range strings.Lines(calls) {
		line, token, until := strings.TrimSpace(line), "full", ""
		if m := prefixed.FindStringSubmatch(line); m != nil {
			token, until, line = orElse(m[2], "full"), m[1], m[3]
		}
		method, params, ok := strings.Cut(line, " ")
		if !ok {
			t.Fatalf("no call: %q", line)
		}
		for name, value := range known {
			params = strings.ReplaceAll(params, "$"+name, value)
		}
		p := as(token)
		answer := repeat(t, p, until, method, params, &log)
		for _, m := range learned.FindAllStringSubmatch(answer, -1) {
			known[m[1]] = m[2]
		}
	}
	return log.String()
}

var (
	prefixed = regexp.MustCompile(`^(?:until (\w+)|as (\w+)): (.*)$`)
	learned  = regexp.MustCompile(`\\"(execution_id|request_id|next_cursor)\\":\\"([^"\\]+)\\"`)
)

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// repeat makes a request, again and again until its answer holds a word; only
// the last time is kept, under one id.
func repeat(t *testing.T, p *peer, word, method, params string, log *strings.Builder) string {
	t.Helper()
	before, id := log.String(), p.last
	for try := 0; ; try++ {
		answer := p.request(t, method, params)
		if strings.Contains(answer, word) {
			return answer
		}
		if try == 1000 {
			t.Fatalf("never %s: %s", word, answer)
		}
		log.Reset()
		log.WriteString(before)
		p.last = id
	}
}

// stable replaces what differs from run to run. Different ids of one message
// stay different.
func stable(message string) string {
	for _, v := range []struct{ pattern, name string }{
		{`rq_[0-9a-z]{8,}`, "gateway-request"},
		{`req_[0-9A-Z]{26}`, "request"},
		{`msg_[0-9A-Z]{26}`, "message"},
		{`led_[0-9A-Z]{26}`, "ledger"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "uuid"},
	} {
		var seen []string
		message = regexp.MustCompile(v.pattern).ReplaceAllStringFunc(message, func(id string) string {
			if id == "8f38e72e-4e77-4f9d-b0dc-58b99a0a3325" {
				return id // the demo's trigger
			}
			if !slices.Contains(seen, id) {
				seen = append(seen, id)
			}
			return fmt.Sprintf("<%s-%d>", v.name, slices.Index(seen, id)+1)
		})
	}
	return volatile.ReplaceAllString(message, "<time>")
}

// volatile are times with a fraction, which only what happens now has.
var volatile = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)

// write replaces a section of a file. Tests of one file wait for each other.
func write(t *testing.T, file, name, data string) {
	t.Helper()
	writing <- struct{}{}
	defer func() { <-writing }()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == name })
	if at < 0 {
		archive.Files = append(archive.Files, txtar.File{Name: name})
		at = len(archive.Files) - 1
	}
	archive.Files[at].Data = []byte(data)
	slices.SortStableFunc(archive.Files[1:], func(a, b txtar.File) int { return strings.Compare(a.Name, b.Name) })
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

var writing = make(chan struct{}, 1)
