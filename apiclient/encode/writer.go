package encode

// writer writes one parameter.
type writer struct {
	b     []byte
	keep  *[256]bool // bytes of names and values that are not escaped
	query bool       // in form style, parameters are name=value pairs
}

// affix is how a style puts its parts together.
type affix struct {
	first, between string // before the first part, between parts when exploded
	joined         string // between parts when not exploded
	named          bool   // parts are preceded by the parameter's name
}

var affixes = [...]affix{
	Simple:     {"", ",", ",", false},
	Label:      {".", ".", ",", false},
	Matrix:     {";", ";", ",", true},
	Form:       {"", "&", ",", true},
	Spaces:     {"", "&", " ", true},
	Pipes:      {"", "&", "|", true},
	Tabs:       {"", "&", "\t", true},
	DeepObject: {"", "&", "&", true},
}

func (w *writer) write(name string, style Style, explode bool, v Value) {
	a := affixes[style]
	switch v := v.(type) {
	case String:
		w.b = append(w.b, a.first...)
		w.part(name, a, style, string(v))
	case List:
		w.list(name, a, style, explode, v)
	case Object:
		switch {
		case style == DeepObject:
			w.deep(name, v)
		case explode:
			w.exploded(a, v)
		default:
			w.list(name, a, style, false, flat(v))
		}
	}
}

// part writes a value, after the parameter's name where the style has it.
func (w *writer) part(name string, a affix, style Style, value string) {
	if a.named && (w.query || style == Matrix) {
		w.text(name)
		if style == Matrix && value == "" {
			return // RFC 6570, section 3.2.7: ;name
		}
		w.b = append(w.b, '=')
	}
	w.text(value)
}

func (w *writer) list(name string, a affix, style Style, explode bool, values []string) {
	if len(values) == 0 {
		return
	}
	if style == DeepObject {
		w.deep(name, listed(values))
		return
	}
	w.b = append(w.b, a.first...)
	for i, v := range values {
		switch {
		case i == 0:
			w.part(name, a, style, v)
		case explode:
			w.b = append(w.b, a.between...)
			w.part(name, a, style, v)
		default:
			if style == Spaces || style == Pipes || style == Tabs {
				w.text(a.joined) // none of them may stand in a URL
			} else {
				w.b = append(w.b, a.joined...)
			}
			w.text(v)
		}
	}
}

// exploded writes an object as key=value parts of their own.
func (w *writer) exploded(a affix, o Object) {
	for i, f := range o {
		if i == 0 {
			w.b = append(w.b, a.first...)
		} else {
			w.b = append(w.b, a.between...)
		}
		w.text(f.Path[0])
		w.b = append(w.b, '=')
		w.text(f.Value)
	}
}

// deep writes name[key]=value, and name[key][key]=value for what is nested.
func (w *writer) deep(name string, o Object) {
	for i, f := range o {
		if i > 0 {
			w.b = append(w.b, '&')
		}
		w.text(name)
		for _, key := range f.Path {
			w.b = append(w.b, "%5B"...)
			w.text(key)
			w.b = append(w.b, "%5D"...)
		}
		w.b = append(w.b, '=')
		w.text(f.Value)
	}
}

// listed is a list in the style deepObject. OpenAPI leaves open what that is; it is
// written as a list inside of an object is.
func listed(values []string) Object {
	o := make(Object, len(values))
	for i, v := range values {
		o[i] = Field{Path: []string{""}, Value: v}
	}
	return o
}

// flat lists keys and values in turn.
func flat(o Object) []string {
	out := make([]string, 0, 2*len(o))
	for _, f := range o {
		out = append(out, f.Path[0], f.Value)
	}
	return out
}

func (w *writer) text(s string) {
	for i := range len(s) {
		if c := s[i]; w.keep[c] {
			w.b = append(w.b, c)
		} else {
			w.b = appendEscaped(w.b, c)
		}
	}
}

func appendEscaped(b []byte, c byte) []byte {
	const hex = "0123456789ABCDEF"
	return append(b, '%', hex[c>>4], hex[c&15])
}

// Sets of bytes that are written as they are.
var (
	unreserved = set("-._~") // and letters and digits: RFC 3986, section 2.3
	reserved   = set("-._~:/?[]@!$'()*,")
	everything = all()
)

func set(others string) *[256]bool {
	var s [256]bool
	for c := range 256 {
		s[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for i := range len(others) {
		s[others[i]] = true
	}
	return &s
}

func all() *[256]bool {
	var s [256]bool
	for c := range s {
		s[c] = true
	}
	return &s
}

// isPathChar reports what may stand in a segment (RFC 3986, section 3.3, pchar).
func isPathChar(c byte) bool {
	return unreserved[c] || c == '!' || c == '$' || c == '&' || c == '\'' || c == '(' || c == ')' || c == '*' ||
		c == '+' || c == ',' || c == ';' || c == '=' || c == ':' || c == '@'
}
