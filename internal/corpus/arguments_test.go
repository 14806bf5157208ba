package corpus

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// sampler makes arguments that fit a tool's published schema. It makes a guess
// for each argument and holds it against the schema, so a guess need not
// understand every keyword: what does not fit is guessed again in another way.
type sampler struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

func newSampler(inputSchema []byte) (*sampler, error) {
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(string(inputSchema)))
	if err != nil {
		return nil, err
	}
	s := &sampler{root: root.(map[string]any), compiler: jsonschema.NewCompiler()}
	return s, s.compiler.AddResource("tool.json", root)
}

// guess is a way to make a value.
type guess struct {
	fill   int // down to which depth optional properties are filled in
	branch int // of anyOf and oneOf
}

var guesses = []guess{{3, 0}, {3, 1}, {1, 0}, {1, 1}, {0, 0}, {0, 1}, {0, 2}, {0, 3}, {3, 2}, {3, 3}, {0, 4}, {0, 5}, {0, 6}}

// sparse are the guesses for a call with nothing but what is required.
var sparse = []guess{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {3, 0}, {0, 4}, {0, 5}, {0, 6}}

// arguments are the required arguments or all of them. An optional argument for
// which no value was found is left out, a required one is an error.
func (s *sampler) arguments(all bool) ([]byte, error) {
	required, ways := stringsOf(s.root["required"]), sparse
	if all {
		ways = guesses
	}
	out := map[string]any{}
	properties, _ := s.root["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		if !all && !slices.Contains(required, name) {
			continue
		}
		v, err := s.argument(name, properties[name], ways)
		if err == nil {
			out[name] = v
		} else if slices.Contains(required, name) {
			return nil, fmt.Errorf("no value for %s: %w", name, err)
		}
	}
	return json.Marshal(out)
}

func (s *sampler) argument(name string, schema any, ways []guess) (any, error) {
	pointer := strings.NewReplacer("~", "~0", "/", "~1", "%", "%25").Replace(name)
	check, err := s.compiler.Compile("tool.json#/properties/" + pointer)
	if err != nil {
		return nil, err
	}
	for _, g := range ways {
		v := s.value(schema, g, 0, 0)
		if v == nil {
			continue // null for an optional argument leaves it out
		}
		if err = check.Validate(v); err == nil {
			return v, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("nothing but null")
	}
	return nil, err
}

// maxDepth ends recursive schemas.
const maxDepth = 12

// value guesses a value; n tells the elements of a list apart.
func (s *sampler) value(schema any, g guess, depth, n int) any {
	o, _ := schema.(map[string]any)
	if o = s.flat(o, g, 0); len(o) == 0 || depth > maxDepth {
		return "text"
	}
	if c, ok := o["const"]; ok {
		return c
	}
	if values, ok := o["enum"].([]any); ok {
		values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
		if len(values) > 0 {
			return values[n%len(values)]
		}
		return nil
	}
	switch kind := typeOf(o); kind {
	case "object":
		return s.object(o, g, depth)
	case "array":
		return s.array(o, g, depth)
	case "integer", "number":
		return numeric(o, kind, n)
	case "boolean":
		return true
	case "null":
		return nil
	}
	return text(o, n)
}

func typeOf(o map[string]any) string {
	switch t := o["type"].(type) {
	case string:
		return t
	case []any:
		for _, name := range t {
			if name != "null" {
				return name.(string)
			}
		}
	}
	switch {
	case o["properties"] != nil || o["required"] != nil || o["additionalProperties"] != nil:
		return "object"
	case o["items"] != nil:
		return "array"
	case o["minimum"] != nil || o["maximum"] != nil:
		return "number"
	}
	return "string"
}

// flat is a schema with its reference, its allOf and one branch of its anyOf and
// oneOf merged into it.
func (s *sampler) flat(o map[string]any, g guess, depth int) map[string]any {
	out := map[string]any{}
	if depth > maxDepth {
		return out
	}
	add := func(part any) {
		p, _ := part.(map[string]any)
		for key, v := range s.flat(p, g, depth+1) {
			out[key] = combine(key, out[key], v)
		}
	}
	if ref, ok := o["$ref"].(string); ok {
		defs, _ := s.root["$defs"].(map[string]any)
		add(defs[strings.TrimPrefix(ref, "#/$defs/")])
	}
	parts, _ := o["allOf"].([]any)
	for _, p := range parts {
		add(p)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches, _ := o[key].([]any)
		branches = slices.DeleteFunc(slices.Clone(branches), func(b any) bool {
			m, _ := b.(map[string]any)
			return m["type"] == "null"
		})
		if len(branches) > 0 {
			add(branches[g.branch%len(branches)])
		}
	}
	for key, v := range o {
		if key != "$ref" && key != "allOf" && key != "anyOf" && key != "oneOf" {
			out[key] = combine(key, out[key], v)
		}
	}
	return out
}

// combine is a keyword that two schemas have of which both must be met: lists of
// properties add up, of anything else the second counts.
func combine(key string, a, b any) any {
	switch a := a.(type) {
	case map[string]any:
		if more, ok := b.(map[string]any); ok && key == "properties" {
			return join(a, more)
		}
	case []any:
		if more, ok := b.([]any); ok && key == "required" {
			return append(slices.Clone(a), more...)
		}
	}
	return b
}

// join merges two sets of properties; one that both have must fit both.
func join(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for key, v := range a {
		out[key] = v
	}
	for key, v := range b {
		if have, twice := out[key]; twice {
			v = map[string]any{"allOf": []any{have, v}}
		}
		out[key] = v
	}
	return out
}

func (s *sampler) object(o map[string]any, g guess, depth int) any {
	out := map[string]any{}
	properties, _ := o["properties"].(map[string]any)
	required := stringsOf(o["required"])
	for _, name := range sortedKeys(properties) {
		if !slices.Contains(required, name) && depth >= g.fill {
			continue
		}
		v := s.value(properties[name], g, depth+1, 0)
		if v != nil || slices.Contains(required, name) {
			out[name] = v
		}
	}
	more, _ := o["additionalProperties"].(map[string]any)
	for _, name := range required {
		if _, ok := out[name]; !ok {
			out[name] = s.value(more, g, depth+1, 0)
		}
	}
	for n := len(out); n < max(count(o, "minProperties"), min(1, g.fill)) && o["additionalProperties"] != false && (len(properties) == 0 || n < count(o, "minProperties")); n++ {
		out[fmt.Sprint("key", n)] = s.value(more, g, depth+1, n)
	}
	return out
}

func (s *sampler) array(o map[string]any, g guess, depth int) any {
	least := count(o, "minItems")
	if depth < g.fill {
		least = max(least, 1)
	}
	if most, ok := bound(o, "maxItems"); ok && most.IsInt() {
		least = min(least, int(most.Num().Int64()))
	}
	out := []any{}
	prefix, _ := o["prefixItems"].([]any)
	for n := range least {
		item := o["items"]
		if n < len(prefix) {
			item = prefix[n]
		}
		out = append(out, s.value(item, g, depth+1, n))
	}
	return out
}

func count(o map[string]any, key string) int {
	if b, ok := bound(o, key); ok {
		f, _ := b.Float64()
		return min(int(f), 1000)
	}
	return 0
}

func bound(o map[string]any, key string) (*big.Rat, bool) {
	n, ok := o[key].(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// numeric is the least number that is allowed, else one near 1.
func numeric(o map[string]any, kind string, n int) any {
	v, one := big.NewRat(int64(1+n), 1), big.NewRat(1, 1)
	if least, ok := bound(o, "minimum"); ok && v.Cmp(least) < 0 {
		v = least
	}
	if least, ok := bound(o, "exclusiveMinimum"); ok && v.Cmp(least) <= 0 {
		v = new(big.Rat).Add(least, one)
	}
	if most, ok := bound(o, "maximum"); ok && v.Cmp(most) > 0 {
		v = most
	}
	if most, ok := bound(o, "exclusiveMaximum"); ok && v.Cmp(most) >= 0 {
		v = new(big.Rat).Sub(most, one)
	}
	step, ok := bound(o, "multipleOf")
	if !ok && kind == "integer" {
		step, ok = one, true
	}
	if ok && step.Sign() > 0 {
		times := new(big.Rat).Quo(v, step)
		up := new(big.Int).Add(times.Num(), new(big.Int).Sub(times.Denom(), big.NewInt(1)))
		up.Div(up, times.Denom())
		v = new(big.Rat).Mul(step, new(big.Rat).SetInt(up))
	}
	return json.Number(strings.TrimSuffix(strings.TrimRight(v.FloatString(6), "0"), "."))
}

// formats are values of the formats that documents name.
var formats = map[string]string{
	"uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "date": "2026-01-31", "date-time": "2026-01-31T12:34:56Z",
	"time": "12:34:56Z", "duration": "PT1H", "email": "ada@example.com", "uri": "https://example.com/a", "url": "https://example.com/a",
	"uri-reference": "/a", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "ip": "192.0.2.1", "cidr": "192.0.2.0/24",
	"byte": "aGVsbG8=", "binary": "aGVsbG8=", "int64": "12", "int32": "12", "uint64": "12", "json": "{}",
}

func text(o map[string]any, n int) any {
	least, most := count(o, "minLength"), 1<<20
	if b, ok := bound(o, "maxLength"); ok && b.IsInt() && b.Num().IsInt64() {
		most = int(min(b.Num().Int64(), 1<<20))
	}
	fits := func(s string) bool { return len([]rune(s)) >= least && len([]rune(s)) <= most }
	format, _ := o["format"].(string)
	if o["contentEncoding"] == "base64" {
		format = "byte"
	}
	if pattern, ok := o["pattern"].(string); ok {
		if s, ok := matching(pattern, n, fits); ok {
			return s
		}
	}
	if s, ok := formats[format]; ok && fits(s) && n == 0 {
		return s
	}
	s := "text"
	if n > 0 {
		s += fmt.Sprint(n)
	}
	for len(s) < least {
		s += "x"
	}
	return s[:min(len(s), most)]
}

// matching is a string that matches a pattern: a printable one if one is found,
// because others are hardly meant. Another n gives another string.
func matching(pattern string, n int, fits func(string) bool) (found string, ok bool) {
	defer func() {
		if recover() != nil { // a pattern that rapid cannot draw from
			found, ok = "", false
		}
	}()
	g := rapid.StringMatching(pattern)
	for seed := range 200 {
		s := g.Example(seed)
		if !fits(s) {
			continue
		}
		if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || r > '~' || strings.ContainsRune(`/\.,;%`, r) && !strings.ContainsRune(pattern, r)
		}) {
			if found, ok = s, true; n == 0 {
				return s, true
			}
			n--
			continue
		}
		if !ok {
			found, ok = s, true
		}
	}
	return found, ok
}

func sortedKeys(m map[string]any) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// stringsOf are the strings of a list in JSON.
func stringsOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func TestArgumentsFitTheSchema(t *testing.T) {
	s, err := newSampler([]byte(`{"type":"object","properties":{
		"id":{"type":"string","format":"uuid"},
		"code":{"type":"string","pattern":"^[A-Z]{3}-[0-9]+$","maxLength":6},
		"step":{"type":"integer","exclusiveMinimum":10,"multipleOf":4},
		"tree":{"$ref":"#/$defs/Tree"},
		"one":{"oneOf":[{"type":"object"},{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]},{"type":"boolean"}]},
		"list":{"type":["array","null"],"items":{"enum":["a","b"]},"minItems":2,"uniqueItems":true},
		"never":{"type":["string","null"],"minLength":3,"maxLength":2}
	},"required":["code","id","one","step"],"$defs":{"Tree":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/Tree"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	least, err := s.arguments(false)
	if err != nil || !strings.Contains(string(least), `"step":12`) || strings.Contains(string(least), "list") {
		t.Errorf("%s %v", least, err)
	}
	all, err := s.arguments(true)
	if err != nil || !strings.Contains(string(all), `"list":["a","b"]`) || !strings.Contains(string(all), `"tree":{"kids":[{`) || strings.Contains(string(all), "never") {
		t.Errorf("%s %v", all, err)
	}
}
