package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Violation says where a value breaks its schema, what would be accepted
// there and what came. Its texts are safe to show: what is taken from the value
// is cut short, and control characters in it are escaped.
type Violation struct {
	// Pointer is the JSON pointer (RFC 6901) of the value at fault, "" for the
	// whole instance. A missing or unknown member has the pointer it has, or
	// would have. A name of more than 256 bytes is cut and ends in "…".
	Pointer string
	// Expected is what would be accepted: `integer`, `one of "act", "ask"`.
	Expected string
	// Got is what came: `integer 17`, `string "ten"`, `nothing`.
	Got string
}

// Message returns the violation as one line:
//
//	/limit: expected integer, got string "ten"
func (v *Violation) Message() string {
	message := "expected " + v.Expected + ", got " + v.Got
	if v.Pointer == "" {
		return message
	}
	return escapeControls(v.Pointer) + ": " + message
}

// Error makes the violations of [Check] errors. [Schema.Validate] returns the
// pointer: compare that with nil before it becomes an error.
func (v *Violation) Error() string { return v.Message() }

// maxShown is how many characters of a value a violation repeats, maxListed how
// many bytes of the values or names that would be accepted.
const (
	maxShown  = 64
	maxListed = 2000
)

// quote returns s in quotes, cut to maxShown characters.
func quote(s string) string {
	cut := 0
	for i := range s {
		if cut == maxShown {
			s = s[:i] + "…"
			break
		}
		cut++
	}
	return strconv.Quote(s)
}

func escapeControls(s string) string {
	if quoted := strconv.Quote(s); strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return quoted[1 : len(quoted)-1]
	}
	return s
}

// list joins words with commas, as many as fit maxListed bytes.
func list(words []string) string {
	var b strings.Builder
	for i, word := range words {
		if b.Len() > maxListed {
			b.WriteString(" and " + strconv.Itoa(len(words)-i) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(word)
	}
	return b.String()
}

// violation puts failure f, of the validation that has just ended, into words.
func (v *validation) violation(f failure) *Violation {
	b := v.blame(f)
	out := &Violation{
		Pointer:  v.doc.pointer(b.node),
		Expected: strings.Join(b.expected, " or "),
		Got:      v.got(b.failure),
	}
	if b.keyword == keywordRequired {
		var token strings.Builder
		writeToken(&token, b.name)
		out.Pointer += token.String()
	}
	return out
}

// A blamed failure is the one worth reporting, with all that would have been
// accepted in its place.
type blamed struct {
	failure
	expected []string
}

// blame finds the failure to report for f: f itself, or when no alternative of
// an anyOf or oneOf accepted the value, that of the alternative which got
// deepest. An alternative that a member rules out by its enum or const (a
// discriminator) counts only when every alternative is ruled out, and the wrong
// type only when nothing better is known. Alternatives that fail at the same
// place are reported together.
func (v *validation) blame(f failure) blamed {
	alternatives := f.rule.anyOf
	if f.keyword == keywordOneOf {
		alternatives = f.rule.oneOf
	}
	// The budget bounds the search through alternatives nested in alternatives.
	if (f.keyword != keywordAnyOf && f.keyword != keywordOneOf) || v.budget == 0 {
		return blamed{f, []string{v.expected(f)}}
	}
	v.budget--
	var best blamed
	bestRank := -1
	for _, alternative := range alternatives {
		var b blamed
		rank := 0
		if g, ruledOut := v.ruledOut(alternative, f.node); ruledOut {
			b = blamed{g, []string{v.expected(g)}}
		} else {
			v.check(alternative, f.node) // fails, or there were no f
			b = v.blame(v.failed)
			rank = 1 + 2*v.depth(b.failure)
			if b.keyword != keywordType {
				rank++
			}
		}
		switch {
		case rank > bestRank:
			best, bestRank = b, rank
		case rank == bestRank && b.node == best.node && b.name == best.name:
			for _, e := range b.expected {
				if !slices.Contains(best.expected, e) {
					best.expected = append(best.expected, e)
				}
			}
		}
	}
	return best
}

// ruledOut returns the failure of the first member of object n whose value is
// not one that the alternative r lists for it.
func (v *validation) ruledOut(r *rule, n int32) (failure, bool) {
	for r.ref != nil && r.object == nil {
		r = r.ref
	}
	if r.object == nil || v.doc.nodes[n].kind != kindObject {
		return failure{}, false
	}
	for key := n + 1; key < v.doc.nodes[n].next; key = v.doc.nodes[key+1].next {
		p := r.object.find(v.key(key))
		if p != nil && p.rule != nil && p.rule.enum != nil && !v.oneOf(p.rule.enum, key+1) {
			return failure{rule: p.rule, keyword: keywordEnum, node: key + 1}, true
		}
	}
	return failure{}, false
}

// depth returns how many reference tokens the pointer of f has.
func (v *validation) depth(f failure) int {
	depth := int(v.doc.nodes[f.node].depth)
	if f.keyword == keywordRequired {
		depth++
	}
	return depth
}

// expected says what f's keyword would accept.
func (v *validation) expected(f failure) string {
	r := f.rule
	switch f.keyword {
	case keywordFalse:
		return "no value"
	case keywordType:
		if r.enum != nil {
			return r.enum.String()
		}
		return r.types.String()
	case keywordEnum:
		return r.enum.String()
	case keywordMinimum:
		return "at least " + r.number.minimum.text
	case keywordMaximum:
		return "at most " + r.number.maximum.text
	case keywordExclusiveMinimum:
		return "more than " + r.number.exclusiveMinimum.text
	case keywordExclusiveMaximum:
		return "less than " + r.number.exclusiveMaximum.text
	case keywordMultipleOf:
		return "a multiple of " + r.number.multipleOf.text
	case keywordMinLength:
		return "at least " + count(r.text.minLength, "character")
	case keywordMaxLength:
		return "at most " + count(r.text.maxLength, "character")
	case keywordPattern:
		return "a string that matches " + r.text.pattern.String()
	case keywordMinItems:
		return "at least " + count(r.array.minItems, "element")
	case keywordMaxItems:
		return "at most " + count(r.array.maxItems, "element")
	case keywordUniqueItems:
		return "an element unlike those before it"
	case keywordMinProperties:
		return "at least " + count(r.object.minProperties, "member")
	case keywordMaxProperties:
		return "at most " + count(r.object.maxProperties, "member")
	case keywordRequired:
		return "a value (required)"
	case keywordUnknown:
		return r.object.names(v.doc.nodes[f.node].depth == 1)
	case keywordNot:
		return "anything but " + r.not.summary()
	case keywordOneOfMany:
		return "a value that fits exactly one of " + strconv.Itoa(len(r.oneOf)) + " alternatives"
	}
	return "a value that fits one of " + strconv.Itoa(len(r.anyOf)+len(r.oneOf)) + " alternatives"
}

// got says what the value at fault is, as far as f's keyword looks at it.
func (v *validation) got(f failure) string {
	n := v.doc.nodes[f.node]
	switch f.keyword {
	case keywordRequired:
		return "nothing"
	case keywordUnknown:
		return quote(v.doc.str(f.node))
	case keywordMinLength, keywordMaxLength:
		return "string of " + count(countRunes(v.doc.inside(f.node), n.escaped), "character")
	case keywordMinItems, keywordMaxItems:
		return "array of " + count(int(n.count), "element")
	case keywordMinProperties, keywordMaxProperties:
		return "object of " + count(int(n.count), "member")
	}
	switch n.kind {
	case kindNull:
		return "null"
	case kindArray:
		return "array"
	case kindObject:
		return "object"
	case kindString:
		length := countRunes(v.doc.inside(f.node), n.escaped)
		switch {
		case length > maxShown:
			return "string of " + count(length, "character")
		case f.keyword == keywordType:
			return "string " + quote(v.doc.str(f.node))
		}
		return quote(v.doc.str(f.node))
	case kindNumber:
		raw, name := v.doc.raw(f.node), "number"
		if parseDecimal(raw).isInteger() {
			name = "integer"
		}
		if len(raw) > maxShown {
			return name + " of " + count(len(raw), "character")
		}
		return name + " " + string(raw)
	}
	return "boolean " + string(v.doc.raw(f.node))
}

func nestingText(limit int) string {
	return "at most " + count(limit, "level") + " of nesting"
}

// count returns n things.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// names says which members the object accepts. The members of the whole
// instance are the tool's arguments.
func (o *objectRule) names(arguments bool) string {
	thing := "members"
	if arguments {
		thing = "arguments"
	}
	var words []string
	for i := range o.properties {
		if p := &o.properties[i]; p.rule != nil && !p.rule.never {
			words = append(words, escapeControls(p.name))
		}
	}
	var patterns []string
	for _, p := range o.patterns {
		patterns = append(patterns, "one that matches "+p.pattern.String())
	}
	switch {
	case len(words) > 0:
		return strings.Join(append([]string{"one of the " + thing + " " + list(words)}, patterns...), " or ")
	case len(patterns) > 0:
		return thing + ", each " + strings.Join(patterns, " or ")
	}
	return "no " + thing
}

// summary names what r accepts, for the messages of not.
func (r *rule) summary() string {
	switch {
	case r.enum != nil:
		return r.enum.String()
	case r.types != 0:
		return r.types.String()
	}
	return "what the schema excludes"
}

// String lists the values as the schema spells them, white space aside.
func (e *enumRule) String() string {
	shown := make([]string, len(e.values))
	for i, raw := range e.values {
		var b bytes.Buffer
		_ = json.Compact(&b, []byte(raw)) // Compile has read it: it is JSON
		shown[i] = b.String()
		if utf8.RuneCountInString(shown[i]) > 2*maxShown {
			shown[i] = string([]rune(shown[i])[:2*maxShown]) + "…"
		}
	}
	switch len(shown) {
	case 0:
		return "no value"
	case 1:
		return shown[0]
	}
	return "one of " + list(shown)
}

// String names the types: "string or null".
func (t typeSet) String() string {
	var names []string
	for i, name := range typeNames {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}
