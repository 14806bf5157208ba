package openapi

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// typeSet is a set of JSON types. Numbers are integers and fractions, so that
// "integer" is part of "number".
type typeSet uint8

const (
	stringType typeSet = 1 << iota
	integerType
	fractionType
	booleanType
	arrayType
	objectType
	nullType
	anyType typeSet = 1<<iota - 1
)

var typesByName = []struct {
	name string
	set  typeSet
}{
	{"string", stringType}, {"number", integerType | fractionType}, {"integer", integerType}, {"boolean", booleanType},
	{"array", arrayType}, {"object", objectType}, {"null", nullType},
}

func (t typeSet) String() string {
	if t == anyType {
		return "any"
	}
	var names []string
	for _, known := range typesByName {
		if t&known.set == known.set {
			names = append(names, known.name)
			t &^= known.set
		}
	}
	return strings.Join(names, " or ")
}

func typeNames(v any) []any {
	if list, ok := v.([]any); ok {
		return slices.Clone(list)
	}
	return []any{v}
}

func (s schema) declaredTypes() typeSet {
	if s["type"] == nil {
		return anyType
	}
	var set typeSet
	for _, name := range typeNames(s["type"]) {
		for _, known := range typesByName {
			if name == known.name {
				set |= known.set
			}
		}
	}
	return set
}

func typeOf(v any) typeSet {
	switch v := v.(type) {
	case string:
		return stringType
	case bool:
		return booleanType
	case []any:
		return arrayType
	case map[string]any:
		return objectType
	case json.Number:
		if r, ok := rational(v); ok && r.IsInt() {
			return integerType
		}
		return fractionType
	}
	return nullType
}

// values are the only ones a schema accepts, if it lists them.
func (s schema) values() ([]any, bool) {
	list, listed := s["enum"].([]any)
	if c, ok := s["const"]; ok {
		if listed && len(without([]any{c}, list)) > 0 {
			return nil, true
		}
		list, listed = []any{c}, true
	}
	var out []any
	for _, v := range without(list, nil) {
		if typeOf(v)&s.declaredTypes() != 0 {
			out = append(out, v)
		}
	}
	return out, listed
}

// without are the distinct values of a that are not in b.
func without(a, b []any) []any {
	seen := map[string]bool{}
	for _, v := range b {
		seen[canonical(v)] = true
	}
	var out []any
	for _, v := range a {
		if key := canonical(v); !seen[key] {
			seen[key] = true
			out = append(out, v)
		}
	}
	return out
}

// canonical is the same for values that are equal in JSON Schema: the order of
// members and the spelling of numbers do not matter.
func canonical(v any) string {
	switch v := v.(type) {
	case json.Number:
		if r, ok := rational(v); ok {
			return r.RatString()
		}
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = canonical(e)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strconv.Quote(key)+":"+canonical(v[key]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case string:
		return strconv.Quote(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

// maxDigits bounds the numbers that are compared by value: written out, 1e999999
// has a million digits. Longer ones are compared as spelled.
const maxDigits = 400

func rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok || len(n) > maxDigits {
		return nil, false
	}
	if i := strings.IndexAny(n.String(), "eE"); i >= 0 {
		if e, err := strconv.Atoi(n.String()[i+1:]); err != nil || e > maxDigits || e < -maxDigits {
			return nil, false
		}
	}
	return new(big.Rat).SetString(n.String())
}

// boundKeyword is a keyword, or one and its exclusive form, that limits from below
// or above.
type boundKeyword struct {
	key, exclusive string
	of             typeSet
	lower, count   bool
}

var boundKeywords = []boundKeyword{
	{"minimum", "exclusiveMinimum", integerType | fractionType, true, false},
	{"maximum", "exclusiveMaximum", integerType | fractionType, false, false},
	{"minLength", "", stringType, true, true}, {"maxLength", "", stringType, false, true},
	{"minItems", "", arrayType, true, true}, {"maxItems", "", arrayType, false, true},
	{"minProperties", "", objectType, true, true}, {"maxProperties", "", objectType, false, true},
}

// limit is the one that counts of a keyword and its exclusive form.
type limit struct {
	key   string // empty: none
	value any
	open  bool
}

// order is positive where x refuses more than y; ok is false for numbers that
// cannot be compared.
func (b boundKeyword) order(x, y limit) (order int, ok bool) {
	if x.key == "" || y.key == "" {
		return len(x.key) - len(y.key), true
	}
	v, ok := rational(x.value)
	w, fine := rational(y.value)
	if !ok || !fine {
		return 0, canonical(x.value) == canonical(y.value) && x.open == y.open
	}
	order = v.Cmp(w)
	if !b.lower {
		order = -order
	}
	if order == 0 && x.open != y.open {
		if order = -1; x.open {
			order = 1
		}
	}
	return order, true
}

func (b boundKeyword) limit(s schema) limit {
	var out limit
	if v, ok := s[b.key]; ok {
		out = limit{b.key, v, false}
	}
	if r, ok := rational(out.value); ok && b.lower && b.count && r.Sign() == 0 {
		return limit{} // no count is less
	}
	if v, ok := s[b.exclusive]; ok && b.exclusive != "" {
		open := limit{b.exclusive, v, true}
		if order, ok := b.order(open, out); !ok || order > 0 {
			return open
		}
	}
	return out
}

func (d *differ) bound(ptr string, b boundKeyword, o, n schema) {
	was, is := b.limit(o), b.limit(n)
	order, ok := b.order(is, was)
	if ok && order == 0 {
		return
	}
	class := Breaking
	if ok && order < 0 {
		class = Additive
	}
	switch {
	case was.key == "":
		d.add(class, ptr+"/"+is.key, "%s %s added", is.key, show(is.value))
	case is.key == "":
		d.add(class, ptr+"/"+was.key, "%s %s removed", was.key, show(was.value))
	default:
		d.add(class, ptr+"/"+is.key, "%s %s became %s %s", was.key, show(was.value), is.key, show(is.value))
	}
}

func (d *differ) multipleOf(ptr string, o, n schema) {
	class := constraint
	was, ok := rational(o["multipleOf"])
	is, fine := rational(n["multipleOf"])
	if ok && fine && is.Sign() > 0 && was.Quo(was, is).IsInt() {
		class.changed = Additive
	}
	d.changed(class, ptr+"/multipleOf", "multipleOf", o["multipleOf"], n["multipleOf"])
}
