package corpus

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
)

// What is left, over all documents: 89 of 30,721 calls.
//
//	calls  why
//	   43  a oneOf of open objects, which any object fits twice: no value fits it
//	   19  one branch of an allOf marks a property readOnly, another asks for it
//	    9  a discriminator: a value is made up that only fits without it; for a model
//	       the alternatives say by which value they are chosen
//	    6  an allOf of a list in an object, an anyOf or oneOf that no value fits
//	    3  an enum of numbers for a text: it is published, and sent, as text
//	    2  a list of distinct values that the sampler does not find
//	    2  Swagger 2.0: a file field where consumes names no form
//	    2  the pattern of a date spells YYYY-MM-DD
//	    2  an object of which nothing is required beside an anyOf that requires something
//	    1  a required list of a form that is empty: a form cannot say so
//
// minValid is the share of calls that must arrive as the document describes them,
// of those that the library can say something about.
const minValid = 0.995

// maxUnchecked is the share of calls that it may say nothing about.
const maxUnchecked = 0.05

// arrived is a request as it reached the API.
type arrived struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

func (r *arrived) String() string {
	return fmt.Sprintf("%s %.300s %s %.500s", r.method, r.url, r.header.Get("Content-Type"), r.body)
}

// result counts what became of the calls of one document.
type result struct {
	valid, invalid, refused, unchecked int
}

func (r *result) plus(o result) {
	r.valid += o.valid
	r.invalid += o.invalid
	r.refused += o.refused
	r.unchecked += o.unchecked
}

func (r result) share() float64 {
	return float64(r.valid) / float64(max(1, r.valid+r.invalid+r.refused))
}

// Every tool, called with what its schema asks for, sends a request that the
// document allows.
func TestWire(t *testing.T) {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "valid\tinvalid\trefused\tnot checkable\tshare\t  document")
	var all result
	invalid, refused, unchecked := tally{}, tally{}, tally{}
	for _, document := range documents(t) {
		b, err := gateway(t, document)
		if err != nil {
			t.Errorf("%s: %v", document, err)
			continue
		}
		j, err := newJudge(document, b.tools)
		if err != nil {
			// The library's own limit; TestCorpus has built the gateway.
			unchecked.add("the library cannot load the document", document+": "+err.Error())
			fmt.Fprintf(w, "\t\t\t%d\t\t  %s\n", 2*len(b.tools), document)
			all.unchecked += 2 * len(b.tools)
			continue
		}
		r := wire{t, document, j, invalid, refused, unchecked}.run(b)
		all.plus(r)
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%.2f %%\t  %s\n", r.valid, r.invalid, r.refused, r.unchecked, 100*r.share(), document)
		if os.Getenv("POSTERN_CORPUS") == "all" {
			_ = os.Remove(b.bin)
		}
	}
	fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%.2f %%\t  in all\n", all.valid, all.invalid, all.refused, all.unchecked, 100*all.share())
	_ = w.Flush()
	t.Logf("\n%s\ninvalid:\n%s\nrefused by the gateway:\n%s\nnot checkable:\n%s", table.String(), invalid, refused, unchecked)
	if held() && all.share() < minValid {
		t.Errorf("%.2f %% of the calls arrived valid, want %.2f %%", 100*all.share(), 100*minValid)
	}
	calls := all.valid + all.invalid + all.refused + all.unchecked
	if share := float64(all.unchecked) / float64(max(1, calls)); held() && share > maxUnchecked {
		t.Errorf("%.2f %% of the calls could not be checked, want at most %.2f %%", 100*share, 100*maxUnchecked)
	}
}

// wire calls the tools of one document.
type wire struct {
	t                           *testing.T
	document                    string
	judge                       *judge
	invalid, refused, unchecked tally
}

func (w wire) run(b *built) (r result) {
	var last *arrived
	api := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		last = &arrived{req.Method, req.URL, req.Header, body}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, "{}")
	}))
	defer api.Close()
	c := b.start(w.t, api.URL)
	for _, tool := range b.tools {
		s, err := newSampler(tool.InputSchema)
		if err != nil {
			w.t.Errorf("%s: %s: %v", w.document, tool.Name, err)
			continue
		}
		for _, all := range []bool{false, true} {
			arguments, err := s.arguments(all)
			if err != nil {
				r.refused++
				w.refused.add("no arguments found: "+kindOf(firstLine(err.Error())), w.document+" "+tool.Name+": "+err.Error())
				continue
			}
			last = nil
			a, err := c.call(tool.Name, arguments)
			if err != nil {
				w.t.Fatalf("%s: %s: %v", w.document, tool.Name, err)
			}
			example := fmt.Sprintf("%s %s %.300s -> ", w.document, tool.Name, arguments)
			if last == nil {
				r.refused++
				answer := ""
				if len(a.Content) > 0 {
					answer = a.Content[0].Text
				}
				w.refused.add(kindOf(strings.ReplaceAll(answer, `\"`, "")), example+answer)
				continue
			}
			switch err := w.judge.judge(tool, last); {
			case err == nil:
				r.valid++
			case errors.Is(err, errUnjudged):
				r.unchecked++
				w.unchecked.add(fault(err), example+err.Error())
			default:
				r.invalid++
				w.invalid.add(fault(err), example+last.String()+": "+err.Error())
			}
		}
	}
	return r
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
