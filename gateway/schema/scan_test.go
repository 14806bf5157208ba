package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postern-mcp/postern/gateway/schema"
)

func TestSplitObject(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		` { } `:   nil,
		`{"a":1}`: {"a", "1"},
		"{\t\"a\" : [1, {\"]\":2}] ,\n\"\\u0062\\n\" : \"x\" , \"a\":null}": {"a", `[1, {"]":2}]`, "b\n", `"x"`, "a", "null"},
	} {
		var got []string
		if err := schema.SplitObject([]byte(raw), func(key string, value []byte) bool {
			got = append(got, key, string(value))
			return true
		}); err != nil {
			t.Errorf("split %s: %v", raw, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("split %s: -want +got\n%s", raw, d)
		}
	}
	for _, raw := range []string{``, ` `, `[]`, `null`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{a:1}`, `{"a":1}1`, `{"a":01}`, `{"a":nul}`, `{"a":[}`, `{"a":["]}`} {
		if err := schema.SplitObject([]byte(raw), func(string, []byte) bool { return true }); err == nil {
			t.Errorf("split %s: no error", raw)
		}
	}
}

func TestSplitStops(t *testing.T) {
	t.Parallel()
	calls := 0
	if err := schema.SplitObject([]byte(`{"a":1,"b":2}`), func(string, []byte) bool { calls++; return false }); err != nil || calls != 1 {
		t.Errorf("object: %d calls, %v", calls, err)
	}
	if err := schema.SplitArray([]byte(`[1,2]`), func([]byte) bool { calls++; return false }); err != nil || calls != 2 {
		t.Errorf("array: %d calls, %v", calls-1, err)
	}
}

func TestSplitArray(t *testing.T) {
	t.Parallel()
	var got []string
	if err := schema.SplitArray([]byte(" [ 1.0 ,\"],\" ,[ ] , {\"a\":[2]}] "), func(value []byte) bool {
		got = append(got, string(value))
		return true
	}); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"1.0", `"],"`, "[ ]", `{"a":[2]}`}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	for _, raw := range []string{``, `{}`, `[`, `[1`, `[1,`, `[1,]`, `[1 2]`, `[1]]`} {
		if err := schema.SplitArray([]byte(raw), func([]byte) bool { return true }); err == nil {
			t.Errorf("split %s: no error", raw)
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for _, raw := range stringsDrawn {
		var want string
		if err := json.Unmarshal([]byte(raw), &want); err != nil {
			t.Fatal(err)
		}
		if got, ok := schema.String([]byte(" " + raw + "\n")); !ok || got != want {
			t.Errorf("string %s = %q %t, want %q", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `"`, `a`, `"a`, `"a""`, `"\x"`, `"\u00g0"`, `"\u00`, `"\`, "\"\n\"", `1`, `null`} {
		if got, ok := schema.String([]byte(raw)); ok {
			t.Errorf("string %s = %q", raw, got)
		}
	}
}

func TestIsNullAndDepth(t *testing.T) {
	t.Parallel()
	if !schema.IsNull([]byte(" null\n")) || schema.IsNull([]byte(`"null"`)) || schema.IsNull(nil) {
		t.Error("IsNull is wrong")
	}
	for raw, want := range map[string]int{`1`: 0, `"[[["`: 0, `[]`: 1, `{"a[":[1,{}],"b":1}`: 3, ``: 0, `"`: 0} {
		if got := schema.Depth([]byte(raw)); got != want {
			t.Errorf("depth of %s = %d, want %d", raw, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	many := `{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,`
	for raw, want := range map[string]*schema.Violation{
		`{"a":{"b":[1,{"a":1}]},"b":1}`:      ok,
		`[[[[1]]]]`:                          ok,
		many + `"k10":0}`:                    ok,
		`{"a":[0,{"x":1,"y":2,"\u0078":3}]}`: v("/a/1/x", "each member name once", `"x" twice`),
		many + `"k3":0}`:                     v("/k3", "each member name once", `"k3" twice`),
		`{"":0,"":1}`:                        v("/", "each member name once", `"" twice`),
		`{"a":[[[[1]]]]}`:                    v("/a/0/0", "at most 4 levels of nesting", "more"),
		`[1,{"a":nul}]`:                      v("/1/a", "JSON", "a syntax error at byte 8"),
		`[1,{"a":1]`:                         v("/1", "JSON", "a syntax error at byte 9"),
		`[1,]`:                               v("", "JSON", "a syntax error at byte 3"),
		`[1`:                                 v("", "JSON", "a syntax error at byte 2"),
		`{"a"`:                               v("/a", "JSON", "a syntax error at byte 4"),
		`{,}`:                                v("", "JSON", "a syntax error at byte 1"),
		`[,]`:                                v("", "JSON", "a syntax error at byte 1"),
		`1 2`:                                v("", "JSON", "a syntax error at byte 2"),
		"{\"a\":[\"\xc3\"]}":                 v("/a/0", "UTF-8", "invalid bytes"),
		"{\"\xc3\":1}":                       v("/\uFFFD", "UTF-8", "invalid bytes"),
	} {
		var got *schema.Violation
		if err := schema.Check([]byte(raw), 4); err != nil && !errors.As(err, &got) {
			t.Errorf("check %s: a %T", raw, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("check %s: -want +got\n%s", raw, d)
		}
	}
}

func TestCheckCutsNames(t *testing.T) {
	t.Parallel()
	name := "x" + strings.Repeat("é", 1<<19)
	var got *schema.Violation
	if !errors.As(schema.Check([]byte(`{"`+name+`":1,"`+name+`":2}`), 4), &got) {
		t.Fatal("a duplicate passed")
	}
	if want := v("/"+name[:255]+"…", "each member name once", `"`+name[:127]+`…" twice`); *got != *want {
		t.Errorf("got %v", got)
	}
}

// What Check adds to json.Valid is checked with encoding/json's own tokens.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":-0.5e+7}],"\u0061":"\ud800"}`, `[[[[[1]]]]]`, "\"\xff\"", `{"a":1,}`, `[1 2]`, ` null `} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		const limit = 4
		err := schema.Check(raw, limit)
		if err == nil && (!json.Valid(raw) || schema.Depth(raw) > limit) {
			t.Errorf("passed")
		}
		if err == nil || !json.Valid(raw) {
			return
		}
		var v *schema.Violation
		if !errors.As(err, &v) {
			t.Fatalf("a %T", err)
		}
		switch v.Expected {
		case "UTF-8":
			if strings.ToValidUTF8(string(raw), "") == string(raw) {
				t.Errorf("it is UTF-8: %v", v)
			}
		case "at most 4 levels of nesting":
			if schema.Depth(raw) <= limit {
				t.Errorf("it is no deeper: %v", v)
			}
		case "each member name once":
			if !repeats(json.NewDecoder(bytes.NewReader(raw))) {
				t.Errorf("no name is repeated: %v", v)
			}
		default:
			t.Errorf("it is valid: %v", v)
		}
	})
}

// repeats reports whether an object that d reads names a member twice.
func repeats(d *json.Decoder) bool {
	type container struct {
		object bool
		tokens int
		names  []string
	}
	var open []container
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if len(open) > 0 {
			in := &open[len(open)-1]
			if name, ok := token.(string); ok && in.object && in.tokens%2 == 0 {
				if slices.Contains(in.names, name) {
					return true
				}
				in.names = append(in.names, name)
			}
			in.tokens++
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			open = append(open, container{object: token == json.Delim('{')})
		}
	}
}

func FuzzSplitObject(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"]":2}], "\u0061b" : "}"}`, `{}`, `{"a":1,"a":null}`, `[1,"]"]`, `{"a":1}x`, "{\"\xff\":0}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := map[string]json.RawMessage{}
		err := schema.SplitObject(raw, func(key string, value []byte) bool {
			got[strings.ToValidUTF8(key, "\uFFFD")] = value
			return true
		})
		var elements []json.RawMessage
		arrayErr := schema.SplitArray(raw, func(value []byte) bool {
			elements = append(elements, value)
			return true
		})
		schema.Depth(raw)
		schema.IsNull(raw)
		text, isString := schema.String(raw)
		if !json.Valid(raw) || schema.Check(raw, 100) != nil {
			return
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil || want == nil {
			if err == nil {
				t.Error("split what is no object")
			}
		} else if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%v\n-want +got\n%s", err, d)
		}
		var wantElements []json.RawMessage
		if json.Unmarshal(raw, &wantElements) != nil || wantElements == nil {
			if arrayErr == nil {
				t.Error("split what is no array")
			}
		} else if !slices.EqualFunc(wantElements, elements, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("elements %s, want %s", elements, wantElements)
		}
		var wantText *string
		if json.Unmarshal(raw, &wantText) != nil || wantText == nil {
			if isString {
				t.Error("decoded what is no string")
			}
		} else if !isString || text != *wantText {
			t.Errorf("string %q, want %q", text, *wantText)
		}
	})
}

func TestSplitObjectAllocatesNothing(t *testing.T) {
	raw := []byte(`{"project":"demo", "limit":10, "tags":["a","b"]}`)
	if n := testing.AllocsPerRun(100, func() {
		_ = schema.SplitObject(raw, func(string, []byte) bool { return true })
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
