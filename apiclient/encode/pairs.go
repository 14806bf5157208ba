package encode

import "strings"

// Pair is one part of a form whose parts are not escaped: multipart/form-data.
type Pair struct{ Name, Value string }

// Pairs are the parts that a field becomes (OpenAPI 3.1, Encoding Object, "style").
func Pairs(name string, style Style, explode bool, v Value) []Pair {
	switch v := v.(type) {
	case String:
		return []Pair{{name, string(v)}}
	case List:
		switch {
		case len(v) == 0:
		case style == DeepObject:
			return deepPairs(name, listed(v))
		case !explode:
			return []Pair{{name, strings.Join(v, separators[style])}}
		}
		pairs := make([]Pair, len(v))
		for i, e := range v {
			pairs[i] = Pair{name, e}
		}
		return pairs
	case Object:
		switch {
		case len(v) == 0:
		case style == DeepObject:
			return deepPairs(name, v)
		case !explode:
			return []Pair{{name, strings.Join(flat(v), separators[style])}}
		}
		pairs := make([]Pair, len(v))
		for i, f := range v {
			pairs[i] = Pair{f.Path[0], f.Value}
		}
		return pairs
	}
	return nil
}

func deepPairs(name string, o Object) []Pair {
	pairs := make([]Pair, len(o))
	for i, f := range o {
		pairs[i] = Pair{name + "[" + strings.Join(f.Path, "][") + "]", f.Value}
	}
	return pairs
}

// separators stand between the elements of a list that is not exploded.
var separators = map[Style]string{Form: ",", Spaces: " ", Pipes: "|", Tabs: "\t"}
