package schema

import (
	"regexp"
	"sync"
)

// keyword is what a value broke.
type keyword uint8

const (
	keywordFalse keyword = iota // the schema false
	keywordType
	keywordEnum // or const
	keywordMinimum
	keywordMaximum
	keywordExclusiveMinimum
	keywordExclusiveMaximum
	keywordMultipleOf
	keywordMinLength
	keywordMaxLength
	keywordPattern
	keywordMinItems
	keywordMaxItems
	keywordUniqueItems
	keywordMinProperties
	keywordMaxProperties
	keywordRequired
	keywordUnknown // additionalProperties: false
	keywordAnyOf
	keywordOneOf     // none fits
	keywordOneOfMany // more than one fits
	keywordNot
)

// A failure is a violation not yet put into words: alternatives fail all the
// time without anyone asking why.
type failure struct {
	rule    *rule
	keyword keyword
	node    int32  // the value at fault, the name of an unknown member, or the object that lacks one
	name    string // the member it lacks
}

// A validation is the state of one call of Validate.
type validation struct {
	doc       document
	failed    failure // why the last check failed
	verdicts  map[verdictKey]verdict
	scratch   []byte // the member name being looked up
	canonical []byte // the value being compared
	budget    int    // alternatives still to be searched for what to report
}

// verdicts are remembered for the targets of $ref.
type (
	verdictKey struct {
		rule *rule
		node int32
	}
	verdict struct {
		ok     bool
		failed failure
	}
)

var validations = sync.Pool{New: func() any { return new(validation) }}

// What a validation may keep for the next one to use.
const (
	maxKeptNodes    = 1 << 12
	maxKeptBytes    = 1 << 14
	maxKeptVerdicts = 1 << 8
)

// maxBlamed bounds how many alternatives are searched for what to report.
const maxBlamed = 64

// release gives v back to the pool, without what the instance was.
func (v *validation) release() {
	v.doc.src, v.failed = nil, failure{}
	if cap(v.doc.nodes) > maxKeptNodes || cap(v.scratch) > maxKeptBytes || cap(v.canonical) > maxKeptBytes {
		return
	}
	if len(v.verdicts) > maxKeptVerdicts {
		v.verdicts = nil
	}
	clear(v.verdicts)
	validations.Put(v)
}

// Validate returns the first violation of s in instance, a JSON text that
// [Check] has passed, or nil. In an object unknown members come first, then
// missing ones, then what is wrong with the values, in the order of the
// instance.
//
// For a given schema it takes time linear in the size of instance, times its
// depth where a $ref nests uniqueItems or enum in itself, and it never panics
// whatever the text: malformed JSON is a violation of its own.
func (s *Schema) Validate(instance []byte) *Violation {
	v := validations.Get().(*validation)
	defer v.release()
	if violation := v.doc.parse(instance, maxDepth); violation != nil {
		return violation
	}
	if v.check(s.root, 0) {
		return nil
	}
	v.budget = maxBlamed
	return v.violation(v.failed)
}

// fail notes why a check failed, and reports false.
func (v *validation) fail(r *rule, k keyword, n int32) bool {
	v.failed = failure{rule: r, keyword: k, node: n}
	return false
}

// check reports whether the value at node n fits r; if not, failed says why.
func (v *validation) check(r *rule, n int32) bool {
	if !r.shared {
		return v.apply(r, n)
	}
	key := verdictKey{r, n}
	known, ok := v.verdicts[key]
	if !ok {
		if v.verdicts == nil {
			v.verdicts = map[verdictKey]verdict{}
		}
		known.ok = v.apply(r, n)
		known.failed = v.failed
		v.verdicts[key] = known
	}
	v.failed = known.failed
	return known.ok
}

func (v *validation) apply(r *rule, n int32) bool {
	if r.never {
		return v.fail(r, keywordFalse, n)
	}
	if r.types != 0 && !v.hasType(r.types, n) {
		return v.fail(r, keywordType, n)
	}
	if r.enum != nil && !v.oneOf(r.enum, n) {
		return v.fail(r, keywordEnum, n)
	}
	ok := true
	switch v.doc.nodes[n].kind {
	case kindNumber:
		ok = r.number == nil || v.checkNumber(r, n)
	case kindString:
		ok = r.text == nil || v.checkText(r, n)
	case kindArray:
		ok = r.array == nil || v.checkArray(r, n)
	case kindObject:
		ok = r.object == nil || v.checkObject(r, n)
	}
	return ok && (r.ref == nil || v.check(r.ref, n)) && v.checkCombined(r, n)
}

// hasType implements type (JSON Schema Validation section 6.1.1).
func (v *validation) hasType(set typeSet, n int32) bool {
	switch v.doc.nodes[n].kind {
	case kindNull:
		return set&typeNull != 0
	case kindFalse, kindTrue:
		return set&typeBoolean != 0
	case kindString:
		return set&typeString != 0
	case kindArray:
		return set&typeArray != 0
	case kindObject:
		return set&typeObject != 0
	}
	return set&typeNumber != 0 || set&typeInteger != 0 && parseDecimal(v.doc.raw(n)).isInteger()
}

// oneOf reports whether e lists the value at node n.
func (v *validation) oneOf(e *enumRule, n int32) bool {
	v.canonical = v.doc.appendCanonical(v.canonical[:0], n)
	_, ok := e.canonical[string(v.canonical)]
	return ok
}

// checkNumber implements section 6.2.
func (v *validation) checkNumber(r *rule, n int32) bool {
	d, number := parseDecimal(v.doc.raw(n)), r.number
	switch {
	case number.minimum != nil && d.compare(number.minimum.decimal) < 0:
		return v.fail(r, keywordMinimum, n)
	case number.maximum != nil && d.compare(number.maximum.decimal) > 0:
		return v.fail(r, keywordMaximum, n)
	case number.exclusiveMinimum != nil && d.compare(number.exclusiveMinimum.decimal) <= 0:
		return v.fail(r, keywordExclusiveMinimum, n)
	case number.exclusiveMaximum != nil && d.compare(number.exclusiveMaximum.decimal) >= 0:
		return v.fail(r, keywordExclusiveMaximum, n)
	case number.multipleOf != nil && !number.multipleOf.divides(d):
		return v.fail(r, keywordMultipleOf, n)
	}
	return true
}

// checkText implements section 6.3. Lengths come first, so that a pattern sees
// no string that is too long anyway.
func (v *validation) checkText(r *rule, n int32) bool {
	escaped := v.doc.nodes[n].escaped
	length := countRunes(v.doc.inside(n), escaped)
	switch {
	case length < r.text.minLength:
		return v.fail(r, keywordMinLength, n)
	case length > r.text.maxLength:
		return v.fail(r, keywordMaxLength, n)
	case r.text.pattern != nil && !v.matches(r.text.pattern, n):
		return v.fail(r, keywordPattern, n)
	}
	return true
}

func (v *validation) matches(pattern *regexp.Regexp, n int32) bool {
	return pattern.Match(v.key(n))
}

// key returns the decoded text of string n, until it is called again.
func (v *validation) key(n int32) []byte {
	if !v.doc.nodes[n].escaped {
		return v.doc.inside(n)
	}
	v.scratch = appendUnescaped(v.scratch[:0], v.doc.inside(n))
	return v.scratch
}

// checkArray implements section 6.4 and JSON Schema Core section 10.3.1.
func (v *validation) checkArray(r *rule, n int32) bool {
	array, count := r.array, int(v.doc.nodes[n].count)
	switch {
	case count < array.minItems:
		return v.fail(r, keywordMinItems, n)
	case count > array.maxItems:
		return v.fail(r, keywordMaxItems, n)
	}
	index := 0
	for e := n + 1; e < v.doc.nodes[n].next; e = v.doc.nodes[e].next {
		rule := array.items
		if index < len(array.prefix) {
			rule = array.prefix[index]
		}
		if rule != nil && !v.check(rule, e) {
			return false
		}
		index++
	}
	return !array.unique || count < 2 || v.checkUnique(r, n)
}

// checkUnique implements uniqueItems (section 6.4.3). The repeated element is
// the one at fault.
func (v *validation) checkUnique(r *rule, n int32) bool {
	seen := make(map[string]struct{}, v.doc.nodes[n].count)
	for e := n + 1; e < v.doc.nodes[n].next; e = v.doc.nodes[e].next {
		v.canonical = v.doc.appendCanonical(v.canonical[:0], e)
		if _, twice := seen[string(v.canonical)]; twice {
			return v.fail(r, keywordUniqueItems, e)
		}
		seen[string(v.canonical)] = struct{}{}
	}
	return true
}

// checkObject implements section 6.5 and JSON Schema Core section 10.3.2.
func (v *validation) checkObject(r *rule, n int32) bool {
	object := r.object
	if !v.checkNames(r, n) {
		return false
	}
	count := int(v.doc.nodes[n].count)
	switch {
	case count < object.minProperties:
		return v.fail(r, keywordMinProperties, n)
	case count > object.maxProperties:
		return v.fail(r, keywordMaxProperties, n)
	}
	for key := n + 1; key < v.doc.nodes[n].next; key = v.doc.nodes[key+1].next {
		if object.nameRule != nil && !v.check(object.nameRule, key) {
			return false
		}
		known := false
		if p := object.find(v.key(key)); p != nil && p.rule != nil {
			known = true
			if !v.check(p.rule, key+1) {
				return false
			}
		}
		for i := range object.patterns {
			if p := &object.patterns[i]; v.matches(p.pattern, key) {
				known = true
				if !v.check(p.rule, key+1) {
					return false
				}
			}
		}
		if !known && object.additional != nil && !v.check(object.additional, key+1) {
			return false
		}
	}
	return true
}

// checkNames finds unknown members, then missing ones.
func (v *validation) checkNames(r *rule, n int32) bool {
	object := r.object
	closed := object.additional != nil && object.additional.never
	if !closed && len(object.required) == 0 {
		return true
	}
	var few [4]uint64
	present := few[:]
	if words := (len(object.required) + 63) / 64; words > len(few) {
		present = make([]uint64, words)
	}
	for key := n + 1; key < v.doc.nodes[n].next; key = v.doc.nodes[key+1].next {
		p := object.find(v.key(key))
		if p != nil && p.required > 0 {
			present[(p.required-1)/64] |= 1 << ((p.required - 1) % 64)
		}
		if closed && (p == nil || p.rule == nil) && !v.matchesAny(object.patterns, key) {
			return v.fail(r, keywordUnknown, key)
		}
	}
	for i, p := range object.required {
		if present[i/64]&(1<<(i%64)) == 0 {
			v.failed = failure{rule: r, keyword: keywordRequired, node: n, name: object.properties[p].name}
			return false
		}
	}
	return true
}

func (v *validation) matchesAny(patterns []patternProperty, key int32) bool {
	for i := range patterns {
		if v.matches(patterns[i].pattern, key) {
			return true
		}
	}
	return false
}

// checkCombined implements JSON Schema Core section 10.2.1.
func (v *validation) checkCombined(r *rule, n int32) bool {
	for _, part := range r.allOf {
		if !v.check(part, n) {
			return false
		}
	}
	if r.anyOf != nil && v.fitting(r.anyOf, n, 1) == 0 {
		return v.fail(r, keywordAnyOf, n)
	}
	if r.oneOf != nil {
		switch v.fitting(r.oneOf, n, 2) {
		case 0:
			return v.fail(r, keywordOneOf, n)
		case 2:
			return v.fail(r, keywordOneOfMany, n)
		}
	}
	if r.not != nil && v.check(r.not, n) {
		return v.fail(r, keywordNot, n)
	}
	return true
}

// fitting counts the alternatives that the value at node n fits, up to enough.
func (v *validation) fitting(alternatives []*rule, n int32, enough int) int {
	count := 0
	for _, alternative := range alternatives {
		if v.check(alternative, n) {
			if count++; count == enough {
				break
			}
		}
	}
	return count
}
