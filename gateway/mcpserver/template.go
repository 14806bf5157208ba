package mcpserver

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/postern-mcp/postern/gateway"
)

// template is what the SDK puts around the results of one kind of request.
type template struct {
	header        http.Header // beside those that the guard sets
	before, after []byte      // the result up to its array's first element, and what follows isError or the array
}

const (
	head   = `{"jsonrpc":"2.0","id":`
	member = `,"result":`
)

// call is the answer to a call, with standIn for its block if that is not "".
func (t *template) call(id []byte, r *gateway.Result, standIn string) []byte {
	b := make([]byte, 0, len(head)+len(id)+len(member)+len(t.before)+blockSize(r, standIn)+len(`],"isError":false`)+len(t.after)+2) // and a line feed
	b = append(append(append(append(b, head...), id...), member...), t.before...)
	b = appendBlock(b, r, standIn)
	b = strconv.AppendBool(append(b, `],"isError":`...), r.Err != nil)
	return append(append(b, t.after...), '}')
}

// list is the answer that lists the tools, with the placeholder for them.
func (t *template) list(id []byte, placeholder string) []byte {
	b := make([]byte, 0, len(head)+len(id)+len(member)+len(t.before)+len(placeholder)+1+len(t.after)+1)
	b = append(append(append(append(append(b, head...), id...), member...), t.before...), placeholder...)
	return append(append(append(b, ']'), t.after...), '}')
}

// lesson is a request that the SDK answers while what it makes of it is noted.
type lesson struct {
	request       express
	kind          string
	before, after []byte // as in template; set while the result is encoded
	result        *gateway.Result
	standIn       string
	verdict       verdict
}

// verdict is whether an answer made from the lesson is the SDK's own.
type verdict uint8

const (
	unknown verdict = iota
	same
	different
)

// templates are the kinds that are known. They are few and hardly change, so a reader
// takes no lock.
type templates struct {
	known atomic.Pointer[map[string]*template]
	mu    sync.Mutex // held by writers
}

// maxTemplates bounds the kinds; beyond it all are forgotten, for one that is made up
// anew each time must not push those in use out one after the other for ever.
const maxTemplates = 128

func (ts *templates) find(kind []byte) *template {
	known := ts.known.Load()
	if known == nil {
		return nil
	}
	return (*known)[string(kind)]
}

func (ts *templates) keep(kind string, t *template) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	next := map[string]*template{}
	if known := ts.known.Load(); known != nil && len(*known) < maxTemplates {
		next = maps.Clone(*known)
	}
	next[kind] = t
	ts.known.Store(&next)
}

// check compares what the SDK writes with what would be made from the lesson. The SDK
// writes an answer at once.
func (l *lesson) check(message []byte, placeholder string) {
	if l.verdict != unknown || l.before == nil {
		l.verdict = different
		return
	}
	t := &template{before: l.before, after: l.after}
	var again []byte
	if l.request.list {
		again = t.list(l.request.id, placeholder)
	} else {
		again = t.call(l.request.id, l.result, l.standIn)
	}
	if l.verdict = different; bytes.Equal(again, message) {
		l.verdict = same
	}
}

// learn keeps the template of a lesson. before and after are the header as it was before
// the SDK had it, and now.
func (ts *templates) learn(l *lesson, before, after http.Header) {
	// Whom the API does not let in cannot push out what others use (see maxTemplates).
	if l.verdict != same || l.result != nil && l.result.Err != nil {
		return
	}
	t := &template{header: http.Header{}, before: l.before, after: l.after}
	for name, values := range after {
		if _, ours := before[name]; !ours {
			t.header[name] = slices.Clone(values)
		}
	}
	ts.keep(l.kind, t)
}
