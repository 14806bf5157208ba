package schema

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
)

// A rule is one compiled subschema. Keywords that look at one kind of value
// only are grouped, so that a rule costs a value no more than its own kind's.
type rule struct {
	never  bool    // the schema false
	types  typeSet // 0 when any type will do
	enum   *enumRule
	number *numberRule
	text   *textRule
	array  *arrayRule
	object *objectRule

	ref                 *rule
	allOf, anyOf, oneOf []*rule
	not                 *rule

	// shared is set for the target of a $ref. Verdicts on it are remembered:
	// alternatives that lead back to one rule would otherwise double the work
	// with every level of the value.
	shared bool
	// visit is where the search for cycles stands with the rule.
	visit visit
}

// typeSet has a bit for each of typeNames.
type typeSet uint8

var typeNames = [...]string{"string", "integer", "number", "boolean", "object", "array", "null"}

const (
	typeString typeSet = 1 << iota
	typeInteger
	typeNumber
	typeBoolean
	typeObject
	typeArray
	typeNull
)

// enumRule holds enum or const.
type enumRule struct {
	canonical map[string]struct{}
	values    []string // as spelled in the schema
}

type bound struct {
	decimal
	text string
}

type numberRule struct {
	minimum, maximum, exclusiveMinimum, exclusiveMaximum *bound
	multipleOf                                           *divisor
}

// Limits that a schema does not set are 0 and math.MaxInt.
type textRule struct {
	minLength, maxLength int
	pattern              *regexp.Regexp
}

type arrayRule struct {
	minItems, maxItems int
	unique             bool
	prefix             []*rule
	items              *rule
}

type objectRule struct {
	minProperties, maxProperties int
	properties                   []property // of properties, then of required alone
	index                        map[string]int
	required                     []int // indexes of properties
	patterns                     []patternProperty
	additional                   *rule
	nameRule                     *rule
}

type property struct {
	name     string
	rule     *rule // nil for a name that only required lists
	required int   // its place in objectRule.required, from 1; 0 when it is optional
}

type patternProperty struct {
	pattern *regexp.Regexp
	rule    *rule
}

// find returns the property called name, or nil.
func (o *objectRule) find(name []byte) *property {
	if o.index != nil {
		if i, ok := o.index[string(name)]; ok {
			return &o.properties[i]
		}
		return nil
	}
	for i := range o.properties {
		if o.properties[i].name == string(name) {
			return &o.properties[i]
		}
	}
	return nil
}

// add returns the index of the property called name, a new one if need be.
func (o *objectRule) add(name string) int {
	if i, ok := o.index[name]; ok {
		return i
	}
	for i := range o.properties {
		if o.index == nil && o.properties[i].name == name {
			return i
		}
	}
	o.properties = append(o.properties, property{name: name})
	last := len(o.properties) - 1
	if o.index != nil {
		o.index[name] = last
	} else if last == fewMembers {
		o.index = make(map[string]int, 2*fewMembers)
		for i := range o.properties {
			o.index[o.properties[i].name] = i
		}
	}
	return last
}

// Compile compiles a JSON Schema. It refuses keywords that it does not know, so
// that no published constraint goes unenforced, and a $ref that leads nowhere,
// out of the document, or back to itself without descending into the value.
func Compile(doc []byte) (*Schema, error) {
	// The rules keep parts of the text; it is the caller's to change.
	doc = bytes.Clone(doc)
	c := &compiler{doc: document{nodes: make([]node, 0, 64)}}
	if v := c.doc.check(doc, maxDepth); v != nil {
		return nil, fmt.Errorf("compile schema: %w", v)
	}
	c.rules = make([]*rule, len(c.doc.nodes))
	root, err := c.rule(0)
	if err == nil {
		err = c.resolve()
	}
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return &Schema{root: root}, nil
}

type compiler struct {
	doc   document
	rules []*rule // by node, for those nodes that are schemas
	refs  []reference
}

// A reference is a $ref yet to be resolved.
type reference struct {
	from *rule
	node int32 // the value of the $ref
}

// errorAt returns an error about node n.
func (c *compiler) errorAt(n int32, format string, args ...any) error {
	where := c.doc.pointer(n)
	if where == "" {
		where = "root"
	}
	return fmt.Errorf("%s: %s", where, fmt.Sprintf(format, args...))
}

// rule compiles the subschema at node n.
func (c *compiler) rule(n int32) (*rule, error) {
	r := &rule{}
	c.rules[n] = r
	switch c.doc.nodes[n].kind {
	case kindTrue:
		return r, nil
	case kindFalse:
		r.never = true
		return r, nil
	case kindObject:
	default:
		return nil, c.errorAt(n, "a schema is an object or a boolean")
	}
	for key := n + 1; key < c.doc.nodes[n].next; key = c.doc.nodes[key+1].next {
		if err := c.keyword(r, c.doc.str(key), key+1, n == 0); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// keyword compiles one keyword of rule r, whose value is node n.
func (c *compiler) keyword(r *rule, name string, n int32, root bool) (err error) {
	switch name {
	case "title", "description", "default", "examples", "format", "deprecated",
		"readOnly", "writeOnly", "$comment", "contentEncoding", "contentMediaType":
	case "$id", "$schema":
		if !root {
			err = c.errorAt(n, "%s belongs to the root of a schema", name)
		}

	case "type":
		r.types, err = c.types(n)
	case "enum", "const":
		err = c.enum(r, name, n)

	case "minimum":
		r.numbers().minimum, err = c.bound(n)
	case "maximum":
		r.numbers().maximum, err = c.bound(n)
	case "exclusiveMinimum":
		r.numbers().exclusiveMinimum, err = c.bound(n)
	case "exclusiveMaximum":
		r.numbers().exclusiveMaximum, err = c.bound(n)
	case "multipleOf":
		if c.doc.nodes[n].kind != kindNumber {
			return c.errorAt(n, "not a number")
		}
		var fault error
		if r.numbers().multipleOf, fault = newDivisor(c.doc.raw(n)); fault != nil {
			err = c.errorAt(n, "%v", fault)
		}

	case "minLength":
		r.texts().minLength, err = c.limit(n)
	case "maxLength":
		r.texts().maxLength, err = c.limit(n)
	case "pattern":
		if c.doc.nodes[n].kind != kindString {
			return c.errorAt(n, "not a string")
		}
		r.texts().pattern, err = c.pattern(n, n)

	case "items":
		r.arrays().items, err = c.rule(n)
	case "prefixItems":
		r.arrays().prefix, err = c.list(n)
	case "minItems":
		r.arrays().minItems, err = c.limit(n)
	case "maxItems":
		r.arrays().maxItems, err = c.limit(n)
	case "uniqueItems":
		k := c.doc.nodes[n].kind
		if k != kindTrue && k != kindFalse {
			return c.errorAt(n, "not a boolean")
		}
		r.arrays().unique = k == kindTrue

	case "properties":
		err = c.properties(r.objects(), n)
	case "patternProperties":
		err = c.members(n, func(key int32, sub *rule) error {
			pattern, err := c.pattern(key, key)
			r.object.patterns = append(r.objects().patterns, patternProperty{pattern, sub})
			return err
		})
	case "required":
		err = c.required(r.objects(), n)
	case "additionalProperties":
		r.objects().additional, err = c.rule(n)
	case "propertyNames":
		r.objects().nameRule, err = c.rule(n)
	case "minProperties":
		r.objects().minProperties, err = c.limit(n)
	case "maxProperties":
		r.objects().maxProperties, err = c.limit(n)

	case "allOf":
		r.allOf, err = c.list(n)
	case "anyOf":
		r.anyOf, err = c.list(n)
	case "oneOf":
		r.oneOf, err = c.list(n)
	case "not":
		r.not, err = c.rule(n)
	case "$ref":
		if c.doc.nodes[n].kind != kindString {
			return c.errorAt(n, "not a string")
		}
		c.refs = append(c.refs, reference{r, n})
	case "$defs":
		err = c.members(n, func(int32, *rule) error { return nil })
	default:
		err = c.errorAt(n, "unknown keyword %q", name)
	}
	return err
}

func (r *rule) numbers() *numberRule {
	if r.number == nil {
		r.number = &numberRule{}
	}
	return r.number
}

func (r *rule) texts() *textRule {
	if r.text == nil {
		r.text = &textRule{maxLength: math.MaxInt}
	}
	return r.text
}

func (r *rule) arrays() *arrayRule {
	if r.array == nil {
		r.array = &arrayRule{maxItems: math.MaxInt}
	}
	return r.array
}

func (r *rule) objects() *objectRule {
	if r.object == nil {
		r.object = &objectRule{maxProperties: math.MaxInt}
	}
	return r.object
}

// types reads the value of type (JSON Schema Validation section 6.1.1).
func (c *compiler) types(n int32) (set typeSet, err error) {
	if c.doc.nodes[n].kind != kindArray {
		return c.oneType(n)
	}
	if c.doc.nodes[n].count == 0 {
		return 0, c.errorAt(n, "names no type")
	}
	for e := n + 1; e < c.doc.nodes[n].next; e = c.doc.nodes[e].next {
		one, err := c.oneType(e)
		if err != nil {
			return 0, err
		}
		set |= one
	}
	return set, nil
}

func (c *compiler) oneType(n int32) (typeSet, error) {
	if c.doc.nodes[n].kind == kindString {
		for i, name := range typeNames {
			if string(c.doc.inside(n)) == name {
				return 1 << i, nil
			}
		}
	}
	return 0, c.errorAt(n, "not the name of a type")
}

// enum reads the value of enum or const (sections 6.1.2 and 6.1.3). A schema
// with both accepts the values they share.
func (c *compiler) enum(r *rule, name string, n int32) error {
	first, end := n, c.doc.nodes[n].next
	if name == "enum" {
		if c.doc.nodes[n].kind != kindArray {
			return c.errorAt(n, "not an array")
		}
		first = n + 1
	}
	e := &enumRule{canonical: map[string]struct{}{}}
	for value := first; value < end; value = c.doc.nodes[value].next {
		key := string(c.doc.appendCanonical(nil, value))
		if r.enum != nil {
			if _, both := r.enum.canonical[key]; !both {
				continue
			}
		}
		e.canonical[key] = struct{}{}
		e.values = append(e.values, string(c.doc.raw(value)))
	}
	r.enum = e
	return nil
}

func (c *compiler) bound(n int32) (*bound, error) {
	if c.doc.nodes[n].kind != kindNumber {
		return nil, c.errorAt(n, "not a number")
	}
	raw := c.doc.raw(n)
	return &bound{parseDecimal(raw), string(raw)}, nil
}

// limit reads a non-negative integer. One beyond int is as good as the largest.
func (c *compiler) limit(n int32) (int, error) {
	if c.doc.nodes[n].kind == kindNumber {
		if d := parseDecimal(c.doc.raw(n)); d.sign() >= 0 && d.isInteger() {
			if d.exp > nearDigits {
				return math.MaxInt, nil
			}
			v := toInt(bytes.Replace(d.digits, point, nil, 1))
			for i := int64(d.n); i < d.exp; i++ {
				v *= 10
			}
			return int(v), nil
		}
	}
	return 0, c.errorAt(n, "not a non-negative integer")
}

// pattern compiles the string n for the keyword at node at.
func (c *compiler) pattern(n, at int32) (*regexp.Regexp, error) {
	pattern, err := regexp.Compile(c.doc.str(n))
	if err != nil {
		return nil, c.errorAt(at, "%v", err)
	}
	return pattern, nil
}

// list compiles a non-empty array of schemas.
func (c *compiler) list(n int32) ([]*rule, error) {
	if c.doc.nodes[n].kind != kindArray || c.doc.nodes[n].count == 0 {
		return nil, c.errorAt(n, "not a non-empty array")
	}
	rules := make([]*rule, 0, c.doc.nodes[n].count)
	for e := n + 1; e < c.doc.nodes[n].next; e = c.doc.nodes[e].next {
		r, err := c.rule(e)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// members compiles an object of schemas.
func (c *compiler) members(n int32, yield func(key int32, r *rule) error) error {
	if c.doc.nodes[n].kind != kindObject {
		return c.errorAt(n, "not an object")
	}
	for key := n + 1; key < c.doc.nodes[n].next; key = c.doc.nodes[key+1].next {
		r, err := c.rule(key + 1)
		if err == nil {
			err = yield(key, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) properties(o *objectRule, n int32) error {
	return c.members(n, func(key int32, r *rule) error {
		o.properties[o.add(c.doc.str(key))].rule = r
		return nil
	})
}

func (c *compiler) required(o *objectRule, n int32) error {
	if c.doc.nodes[n].kind != kindArray {
		return c.errorAt(n, "not an array")
	}
	for e := n + 1; e < c.doc.nodes[n].next; e = c.doc.nodes[e].next {
		if c.doc.nodes[e].kind != kindString {
			return c.errorAt(e, "not a string")
		}
		i := o.add(c.doc.str(e))
		if p := &o.properties[i]; p.required == 0 {
			o.required = append(o.required, i)
			p.required = len(o.required)
		}
	}
	return nil
}
