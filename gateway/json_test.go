package gateway

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// compacted is what the standard library makes of a text, nil if it is not JSON.
func compacted(text []byte) []byte {
	var b bytes.Buffer
	if !utf8.Valid(text) || json.Compact(&b, text) != nil {
		return nil
	}
	return b.Bytes()
}

var hidden = [][]string{{"secret"}, {"a", "b"}, {}}

// without removes from a decoded value what paths lead to, the slow way.
func without(v any, trail []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			here := append(trail[:len(trail):len(trail)], key)
			if key == "secret" || len(here) > 1 && here[len(here)-2] == "a" && key == "b" {
				continue
			}
			out[key] = without(value, here)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = without(v[i], trail)
		}
		return out
	}
	return v
}

func decoded(t interface{ Fatalf(string, ...any) }, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// spaced writes v with random white space and keys escaped at random.
func spaced(rt *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"}).Draw(rt, "space") }
	switch v := v.(type) {
	case map[string]any:
		var members []string
		for key, value := range v {
			name, _ := json.Marshal(key)
			if rapid.Bool().Draw(rt, "escaped") && len(key) > 0 && key[0] < 0x80 {
				const hex = "0123456789abcdef"
				name = []byte(`"\u00` + string(hex[key[0]>>4]) + string(hex[key[0]&15]) + string(name[2:]))
			}
			members = append(members, space()+string(name)+space()+":"+space()+spaced(rt, value)+space())
		}
		return "{" + space() + strings.Join(members, ",") + "}"
	case []any:
		var elements []string
		for _, e := range v {
			elements = append(elements, space()+spaced(rt, e)+space())
		}
		return "[" + space() + strings.Join(elements, ",") + "]"
	}
	text, _ := json.Marshal(v)
	return string(text)
}

func randomValue(rt *rapid.T, depth int) any {
	switch rapid.IntRange(0, 3+min(depth, 1)*4).Draw(rt, "kind") {
	case 0:
		return nil
	case 1:
		return json.Number(rapid.SampledFrom([]string{"0", "-1.50", "1e400", "9007199254740993"}).Draw(rt, "number"))
	case 2, 3:
		return rapid.String().Draw(rt, "string")
	case 4, 5:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(rt, "elements") {
			out = append(out, randomValue(rt, depth-1))
		}
		return out
	}
	out := map[string]any{}
	for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "secret", "c", "é"}), 0, 5).Draw(rt, "keys") {
		out[key] = randomValue(rt, depth-1)
	}
	return out
}

// TestTidyRedacts: what the paths lead to is gone and the rest is equal.
func TestTidyRedacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		value := randomValue(rt, 4)
		text := spaced(rt, value)
		got, ok := tidy([]byte(text), hidden)
		if !ok || !bytes.Equal(got, compacted(got)) {
			rt.Fatalf("tidy(%s) is %s", text, got)
		}
		// Both through the decoder, so that spellings do not count.
		want, _ := json.Marshal(without(decoded(rt, []byte(text)), nil))
		if !reflect.DeepEqual(decoded(rt, got), decoded(rt, want)) {
			rt.Fatalf("tidy(%s)\nis   %s\nwant %s", text, got, want)
		}
	})
}

func TestTidyIsCompact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(spaced(rt, randomValue(rt, 4)))
		// Something is broken in most texts of some size.
		if len(text) > 1 && rapid.Bool().Draw(rt, "broken") {
			at := rapid.IntRange(0, len(text)-1).Draw(rt, "at")
			text[at] = rapid.SampledFrom([]byte("{}[],:\"\\ 0e-x\n\x00\xff")).Draw(rt, "byte")
		}
		got, ok := tidy(text, nil)
		if want := compacted(text); ok != (want != nil) || !bytes.Equal(got, want) {
			rt.Fatalf("tidy(%q) is %q, %v; want %q", text, got, ok, want)
		}
	})
}

func TestTidySpelling(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{`{"a":{"b":1}}`, `{"a":{}}`},
		{`{"a":{"b":1,"c":2}}`, `{"a":{"c":2}}`},
		{`{"a":{"c":2,"b":1}}`, `{"a":{"c":2}}`},
		{`{"a":{"x":0 , "b":1 , "c":2 , "b":[ 1 ]}}`, `{"a":{"x":0,"c":2}}`},
		{`{"a":{"b":1 , "b":2 , "c":3}, "b":4}`, `{"a":{"c":3},"b":4}`},
		{`{"a":[[{"b":1}]]}`, `{"a":[[{}]]}`},
		{`{"a":{"c":{"b":1}}}`, `{"a":{"c":{"b":1}}}`},
		{`{"b":1,"\u0061":{"\u0062":[1, 2]}, "\/\ud800":"\u0000"}`, `{"b":1,"\u0061":{},"\/\ud800":"\u0000"}`},
		{`[{"secret":{"a":"}]\""}},"secret"]`, `[{},"secret"]`},
		{strings.Repeat(`{"a":`, maxAnswerDepth) + `1` + strings.Repeat(`}`, maxAnswerDepth), ""},
		{strings.Repeat(`[`, maxAnswerDepth+1) + strings.Repeat(`]`, maxAnswerDepth+1), "invalid"},
		{``, "invalid"}, {` `, "invalid"}, {`{`, "invalid"}, {`{"a"`, "invalid"}, {`{"a":1,}`, "invalid"}, {`[1,]`, "invalid"},
		{`{"secret":}`, "invalid"}, {`{"secret":1,}`, "invalid"}, {`01`, "invalid"}, {`1.`, "invalid"}, {`-`, "invalid"}, {`1e`, "invalid"},
		{`"\x"`, "invalid"}, {`"\u12g4"`, "invalid"}, {`"`, "invalid"}, {"\"\n\"", "invalid"}, {`nul`, "invalid"}, {`1 2`, "invalid"}, {"\"\xff\"", "invalid"},
	}
	for _, tt := range tests {
		if tt.want == "" {
			tt.want = tt.text
		}
		got, ok := tidy([]byte(tt.text), hidden)
		if !ok {
			got = []byte("invalid")
		}
		if string(got) != tt.want {
			t.Errorf("tidy(%.100s) is %.100s, want %.100s", tt.text, got, tt.want)
		}
	}
}

// TestTidyCopiesNothing: an answer that is as it should be is not copied.
func TestTidyCopiesNothing(t *testing.T) {
	t.Parallel()
	text := []byte(`{"x":[1,{"y":"z"}]}` + "\n")
	got, ok := tidy(text, hidden)
	if !ok || &got[0] != &text[0] || string(text) != `{"x":[1,{"y":"z"}]}`+"\n" {
		t.Errorf("got %s of %s", got, text)
	}
}

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := rapid.String().Draw(rt, "s") + rapid.SampledFrom([]string{"", "\"\\/", "\x00\x1f\b\f\n\r\t", "<&>\u2028\x7f", "\U0001f600"}).Draw(rt, "tail")
		var back string
		if got := appendJSON(nil, s); json.Unmarshal(got, &back) != nil || back != s || !bytes.Equal(got, appendJSON(nil, []byte(s))) {
			rt.Fatalf("%q became %s, which is %q", s, got, back)
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"b":1,"c":2},"secret":"x"}`, `{"\u0073ecret":[1,{"a":1}],"secret":2}`, ` [ {"a" : [{"b":{}}]} , 1e400 ] `,
		`{"secret":}`, "{\"a\":\"\xff\"}", `{"a":{"b":1},"b":"\ud800"}`, `"` + `\"secret\":1"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		want := compacted(text)
		plain, ok := tidy(text, nil)
		if ok != (want != nil) || !bytes.Equal(plain, want) {
			t.Fatalf("tidy(%q) is %q, %v; want %q", text, plain, ok, want)
		}
		got, ok := tidy(text, hidden)
		if ok != (want != nil) {
			t.Fatalf("with paths %q is valid: %v", text, ok)
		}
		if !ok {
			return
		}
		if !bytes.Equal(got, compacted(got)) {
			t.Fatalf("%q became %q, which is not compact JSON", text, got)
		}
		// A decoder keeps the last of repeated keys, and so must not meet any
		// that is to be gone; all that it keeps of got must come from want.
		var clean func(v any, above string)
		clean = func(v any, above string) {
			switch v := v.(type) {
			case map[string]any:
				for key, value := range v {
					if key == "secret" || above == "a" && key == "b" {
						t.Fatalf("%q became %q", text, got)
					}
					clean(value, key)
				}
			case []any:
				for i := range v {
					clean(v[i], above)
				}
			}
		}
		clean(decoded(t, got), "")
		if again, ok := tidy(got, hidden); !ok || !bytes.Equal(again, got) {
			t.Fatalf("%q became %q and then %q", text, got, again)
		}
	})
}
