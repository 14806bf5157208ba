package encode

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	blue   = String("blue")
	colors = List{"blue", "black", "brown"}
	rgb    = Object{{[]string{"R"}, "100"}, {[]string{"G"}, "200"}, {[]string{"B"}, "150"}}
)

// The table of OpenAPI 3.1.1, "Style Examples", and what it leaves out.
func TestStyles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		style   Style
		explode bool
		v       Value
		want    string
	}{
		{"matrix", Matrix, false, String(""), ";color"},
		{"matrix", Matrix, false, blue, ";color=blue"},
		{"matrix", Matrix, false, colors, ";color=blue,black,brown"},
		{"matrix", Matrix, false, rgb, ";color=R,100,G,200,B,150"},
		{"matrix", Matrix, true, colors, ";color=blue;color=black;color=brown"},
		{"matrix", Matrix, true, rgb, ";R=100;G=200;B=150"},
		{"label", Label, false, String(""), "."},
		{"label", Label, false, blue, ".blue"},
		{"label", Label, false, colors, ".blue,black,brown"},
		{"label", Label, false, rgb, ".R,100,G,200,B,150"},
		{"label", Label, true, colors, ".blue.black.brown"},
		{"label", Label, true, rgb, ".R=100.G=200.B=150"},
		{"simple", Simple, false, blue, "blue"},
		{"simple", Simple, false, colors, "blue,black,brown"},
		{"simple", Simple, false, rgb, "R,100,G,200,B,150"},
		{"simple", Simple, true, colors, "blue,black,brown"},
		{"simple", Simple, true, rgb, "R=100,G=200,B=150"},
		{"form", Form, false, String(""), "color="},
		{"form", Form, false, blue, "color=blue"},
		{"form", Form, false, colors, "color=blue,black,brown"},
		{"form", Form, false, rgb, "color=R,100,G,200,B,150"},
		{"form", Form, true, blue, "color=blue"},
		{"form", Form, true, colors, "color=blue&color=black&color=brown"},
		{"form", Form, true, rgb, "R=100&G=200&B=150"},
		{"form", Form, true, List{""}, "color="},
		{"form", Form, true, List{}, ""},
		{"form", Form, false, Object{}, ""},
		{"spaceDelimited", Spaces, false, colors, "color=blue%20black%20brown"},
		{"spaceDelimited", Spaces, false, rgb, "color=R%20100%20G%20200%20B%20150"},
		{"spaceDelimited", Spaces, true, colors, "color=blue&color=black&color=brown"},
		{"pipeDelimited", Pipes, false, colors, "color=blue%7Cblack%7Cbrown"},
		{"pipeDelimited", Pipes, false, rgb, "color=R%7C100%7CG%7C200%7CB%7C150"},
		{"tsv", Tabs, false, colors, "color=blue%09black%09brown"},
		{"deepObject", DeepObject, true, rgb, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"},
		{"deepObject nested", DeepObject, true, Object{{[]string{"a", "b"}, "1"}, {[]string{"c", ""}, "2"}}, "color%5Ba%5D%5Bb%5D=1&color%5Bc%5D%5B%5D=2"},
		{"deepObject of a list", DeepObject, true, List{"1", "2"}, "color%5B%5D=1&color%5B%5D=2"},
		{"delimiters in values", Form, false, List{"a,b", "c&d", "e=f", "g h", "100%", "ü"}, "color=a%2Cb,c%26d,e%3Df,g%20h,100%25,%C3%BC"},
		{"delimiters in keys", Form, true, Object{{[]string{"a=b&c"}, "1"}}, "a%3Db%26c=1"},
	} {
		w := writer{keep: unreserved, query: true}
		w.write("color", c.style, c.explode, c.v)
		if got := string(w.b); got != c.want {
			t.Errorf("%s explode=%v %v: %q, want %q", c.name, c.explode, c.v, got, c.want)
		}
	}
}

func build(t *testing.T, r *Request) *http.Request {
	t.Helper()
	req, err := r.Build(t.Context(), http.MethodGet)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestEveryPartGoesWhereItBelongs(t *testing.T) {
	t.Parallel()
	r := New("https://api.example.com/v1")
	r.Literal("/a b/")
	r.Path("id", Simple, false, String("x/../y?#%"))
	r.Literal(":start")
	r.Query("q", Form, true, List{})
	r.Query("p", Form, true, String("1+1=2"))
	r.QueryReserved("r", Form, true, String("a/b?c#d&e=f+g%"))
	r.Query("empty", Form, true, Object{})
	r.Header("X-Ids", Simple, false, List{"1", "2"})
	r.Cookie("session", true, String(`a b;c,"d"`))
	r.Cookie("ids", true, List{"1", "2"})
	req := build(t, r)
	const want = "https://api.example.com/v1/a%20b/x%2F..%2Fy%3F%23%25:start?p=1%2B1%3D2&r=a/b?c%23d%26e%3Df%2Bg%25"
	if diff := cmp.Diff(want, req.URL.String()); diff != "" {
		t.Error(diff)
	}
	wantHeader := http.Header{"X-Ids": {"1,2"}, "Cookie": {"session=a%20b%3Bc%2C%22d%22; ids=1; ids=2"}}
	if diff := cmp.Diff(wantHeader, req.Header); diff != "" {
		t.Error(diff)
	}
}

func TestABodyBringsItsContentType(t *testing.T) {
	t.Parallel()
	req, err := New("http://h").BuildWithBody(t.Context(), http.MethodPost, "application/json", strings.NewReader("{}"))
	if err != nil || req.Header.Get("Content-Type") != "application/json" || req.ContentLength != 2 || req.GetBody == nil {
		t.Errorf("%v %+v", err, req)
	}
	req, err = New("http://h").BuildWithBody(t.Context(), http.MethodPost, "application/json", nil)
	if err != nil || len(req.Header) != 0 || req.Body != nil {
		t.Errorf("%v %+v", err, req)
	}
}

// Whatever a value holds, the server sees that value in that place.
func TestValuesArriveAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		value, item := rapid.String().Draw(rt, "value"), rapid.String().Draw(rt, "item")
		r := New("http://h/v1")
		r.Literal("/x/")
		r.Path("id", Simple, false, String("v"+value))
		r.Literal("/y")
		r.Query("q", Form, true, String(value))
		r.Query("l", Form, true, List{value, item})
		r.QueryReserved("r", Form, true, String(value))
		req := build(t, r)
		u, err := url.Parse(req.URL.String())
		if err != nil {
			rt.Fatal(err)
		}
		segments := strings.Split(u.EscapedPath(), "/")
		id, err := url.PathUnescape(segments[3])
		if err != nil || len(segments) != 5 || id != "v"+value {
			rt.Fatalf("%v %q from %q", err, segments, value)
		}
		query, err := url.ParseQuery(u.RawQuery)
		if err != nil || query.Get("q") != value || query.Get("r") != value || !cmp.Equal(query["l"], []string{value, item}) {
			rt.Fatalf("%v %v from %q", err, query, value)
		}
	})
}
