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

// call is the answer to a call.
func (t *template) call(id []byte, r *gateway.Result) ([]byte, error) {
	// What is quoted in JSON grows by a backslash for each quote.
	b := make([]byte, 0, len(head)+len(id)+len(member)+len(t.before)+len(r.Text)*5/4+len(r.Data)*4/3+256+len(t.after))
	b = append(append(append(append(b, head...), id...), member...), t.before...)
	b, err := appendBlock(b, r)
	if err != nil {
		return nil, err
	}
	b = strconv.AppendBool(append(b, `],"isError":`...), r.Err != nil)
	return append(append(b, t.after...), '}'), nil
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
}

// maxLearned bounds the answers that are learned from: a long one costs a comparison
// and says no more than a short one.
const maxLearned = 64 << 10

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

// learn keeps the template of a lesson if an answer made from it is the SDK's own.
// before is the header as it was before the SDK had it.
func (ts *templates) learn(l *lesson, w *maskedWriter, before http.Header, placeholder string) {
	if l.before == nil || w.status != http.StatusOK || w.copy == nil {
		return
	}
	t := &template{header: http.Header{}, before: l.before, after: l.after}
	for name, values := range w.Header() {
		if _, ours := before[name]; !ours {
			t.header[name] = slices.Clone(values)
		}
	}
	var again []byte
	if l.request.list {
		again = t.list(l.request.id, placeholder)
	} else {
		again, _ = t.call(l.request.id, l.result)
	}
	if bytes.Equal(again, w.copy) {
		ts.keep(l.kind, t)
	}
}
