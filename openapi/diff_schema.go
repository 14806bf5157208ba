package openapi

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// differ compares two versions of one tool. Argument schemas are compared by
// what they accept: accepting less is breaking, accepting more additive. Each
// keyword is compared by itself, which proves that nothing is refused that was
// accepted; where that proof fails, the change counts as breaking.
type differ struct {
	tool     string
	old, new *side
	out      []ContractChange
	state    map[pair]state
	verdicts map[pair]Class // shared with trials
}

// pair is two schemas being compared, by identity.
type pair struct{ old, new uintptr }

type state int

const (
	unseen state = iota
	open         // further up: the schema is recursive
	clean        // no differences
	dirty
)

// maxRepeated bounds how many changes a tool has before a definition that is used
// in many places is reported in one of them only. Definitions that use each other
// twice would otherwise be reported exponentially often.
const maxRepeated = 1000

func newDiffer(tool string, old, new any) *differ {
	return &differ{tool: tool, old: newSide(old), new: newSide(new), state: map[pair]state{}, verdicts: map[pair]Class{}}
}

// verdict is the most serious class among the changes from one schema to another,
// Cosmetic if there are none. While it is being found it counts as Cosmetic for
// schemas inside that lead back to it; what is wrong then shows where they are
// compared for good.
func (d *differ) verdict(old, new any) Class {
	p := pair{d.old.expand(old).id(), d.new.expand(new).id()}
	if v, ok := d.verdicts[p]; ok {
		return v
	}
	d.verdicts[p] = Cosmetic
	trial := &differ{old: d.old, new: d.new, state: map[pair]state{}, verdicts: d.verdicts}
	trial.compare("", old, new)
	worst := len(classes) - 1
	for _, c := range trial.out {
		worst = min(worst, slices.Index(classes, c.Class))
	}
	d.verdicts[p] = classes[worst]
	return classes[worst]
}

// compare notes the changes between two schemas that stand at the same place.
func (d *differ) compare(ptr string, old, new any) {
	o, n := d.old.expand(old), d.new.expand(new)
	p := pair{o.id(), n.id()}
	if s := d.state[p]; s == open || s == clean || s == dirty && len(d.out) > maxRepeated {
		return
	}
	d.state[p] = open
	before := len(d.out)
	d.compareExpanded(ptr, o, n)
	d.state[p] = clean
	if len(d.out) > before {
		d.state[p] = dirty
	}
}

// annotations are the keywords that only say something to readers.
var annotationKeywords = []string{"title", "description", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment", "$schema"}

func (d *differ) compareExpanded(ptr string, o, n schema) {
	for _, key := range annotationKeywords {
		d.text(ptr+"/"+key, key, o[key], n[key])
	}
	// A default says what leaving the argument out does: another one changes the
	// effect of a call that stays the same, and nobody is told.
	d.changed(promise, ptr+"/default", "default", o["default"], n["default"])

	switch was, is := d.old.isNever(o), d.new.isNever(n); {
	case is && !was:
		d.add(Breaking, ptr, "nothing is accepted any more")
		return
	case was && !is:
		d.add(Additive, ptr, "accepted now")
		return
	case was && is:
		return
	}
	if d.compareCombined(ptr, o, n) {
		return
	}
	d.accepted(ptr, o, n)
	both := d.old.types(o) & d.new.types(n) // keywords of a type that one side refuses change nothing
	for _, b := range boundKeywords {
		if both&b.of != 0 {
			d.bound(ptr, b, o, n)
		}
	}
	if both&(integerType|fractionType) != 0 {
		d.multipleOf(ptr, o, n)
	}
	if both&stringType != 0 {
		d.changed(constraint, ptr+"/pattern", "pattern", o["pattern"], n["pattern"])
		d.format(ptr, o, n)
		// The encoding says how the text is read, not whether it is accepted.
		d.changed(fixed, ptr+"/contentEncoding", "contentEncoding", o["contentEncoding"], n["contentEncoding"])
	}
	if both&arrayType != 0 {
		d.array(ptr, o, n)
	}
	if both&objectType != 0 {
		d.object(ptr, o, n)
	}
	for _, key := range slices.Sorted(maps.Keys(union(o, n))) {
		if !slices.Contains(keywords, key) && !slices.Contains(annotationKeywords, key) && key != "$defs" || key == "$ref" {
			d.changed(fixed, ptr+"/"+pointerEscaper.Replace(key), key, o[key], n[key])
		}
	}
}

// accepted compares types, enum and const together: what is written as a type on
// one side may be written as a list of values on the other.
func (d *differ) accepted(ptr string, o, n schema) {
	before, listed := o.values()
	after, lists := n.values()
	was, is := o.declaredTypes(), n.declaredTypes()
	switch {
	case listed && lists:
		for _, v := range without(before, after) {
			d.add(Breaking, ptr+"/enum", "value %s no longer accepted", show(v))
		}
		for _, v := range without(after, before) {
			d.add(Additive, ptr+"/enum", "value %s newly accepted", show(v))
		}
	case lists:
		d.add(Breaking, ptr+"/enum", "only %s accepted now", show(after))
	case listed:
		for _, v := range before {
			if typeOf(v)&is == 0 {
				d.add(Breaking, ptr+"/type", "value %s no longer accepted", show(v))
			}
		}
		d.add(Additive, ptr+"/enum", "no longer only %s accepted", show(before))
	case was&^is != 0 && is&^was != 0:
		d.add(Breaking, ptr+"/type", "type changed from %s to %s", was, is)
	case was&^is != 0:
		d.add(Breaking, ptr+"/type", "type narrowed from %s to %s", was, is)
	case is&^was != 0:
		d.add(Additive, ptr+"/type", "type widened from %s to %s", was, is)
	}
}

// widerFormats are formats of which the first is part of the second.
var widerFormats = [][2]any{{"int32", "int64"}, {"float", "double"}}

func (d *differ) format(ptr string, o, n schema) {
	class := constraint
	if slices.Contains(widerFormats, [2]any{o["format"], n["format"]}) {
		class.changed = Additive
	}
	d.changed(class, ptr+"/format", "format", o["format"], n["format"])
}

func (d *differ) array(ptr string, o, n schema) {
	if was, is := o["uniqueItems"] == true, n["uniqueItems"] == true; was != is {
		class := Additive
		if is {
			class = Breaking
		}
		d.add(class, ptr+"/uniqueItems", "uniqueItems changed from %t to %t", was, is)
	}
	before, after := o.list("prefixItems"), n.list("prefixItems")
	if len(before) != len(after) { // items applies to others then
		d.add(Breaking, ptr+"/prefixItems", "number of prefixItems changed from %d to %d", len(before), len(after))
		return
	}
	for i := range before {
		d.compare(ptr+"/prefixItems/"+strconv.Itoa(i), before[i], after[i])
	}
	d.compare(ptr+"/items", o["items"], n["items"])
}

func (d *differ) object(ptr string, o, n schema) {
	noun := "property"
	if strings.Count(ptr, "/") == 1 {
		noun = "argument"
	}
	before, after := o.schemas("properties"), n.schemas("properties")
	needed, needs := o.names("required"), n.names("required")
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		at := ptr + "/properties/" + pointerEscaper.Replace(name)
		was, listed := before[name]
		is, lists := after[name]
		switch {
		case !lists: // where others are let through, it is at best ignored
			d.add(Breaking, at, "%s removed", noun)
		case !listed && slices.Contains(needs, name) && !slices.Contains(needed, name):
			d.add(Breaking, at, "required %s added", noun)
		case !listed:
			d.add(Additive, at, "optional %s added", noun)
			for _, others := range d.acceptedBefore(name, o) {
				d.compare(at, others, is)
			}
		default:
			d.compare(at, was, is)
		}
	}
	for _, name := range missing(needs, needed) {
		if _, listed := before[name]; listed || !has(after, name) {
			d.add(Breaking, ptr+"/required", "%s %s newly required", noun, show(name))
		}
	}
	for _, name := range missing(needed, needs) {
		if has(after, name) || !has(before, name) {
			d.add(Additive, ptr+"/required", "%s %s no longer required", noun, show(name))
		}
	}
	patterns, next := o.schemas("patternProperties"), n.schemas("patternProperties")
	for _, pattern := range slices.Sorted(maps.Keys(union(patterns, next))) {
		at := ptr + "/patternProperties/" + pointerEscaper.Replace(pattern)
		if has(patterns, pattern) && has(next, pattern) {
			d.compare(at, patterns[pattern], next[pattern])
		} else { // additionalProperties applies to others then
			d.changed(fixed, at, "patternProperties", patterns[pattern], next[pattern])
		}
	}
	d.compare(ptr+"/additionalProperties", o["additionalProperties"], n["additionalProperties"])
	d.compare(ptr+"/propertyNames", o["propertyNames"], n["propertyNames"])
}

// acceptedBefore are the schemas that values under a name that was not listed had
// to match. Where others are listed and this one was let through only because
// nothing is said of the rest there are none: that is no promise, and naming one
// of the rest adds to it.
func (d *differ) acceptedBefore(name string, o schema) []any {
	var out []any
	for pattern, accepted := range o.schemas("patternProperties") {
		if re, err := regexp.Compile(pattern); err != nil || re.MatchString(name) {
			out = append(out, accepted)
		}
	}
	others, said := o["additionalProperties"]
	if len(out) == 0 && (said || o["properties"] == nil) && !d.old.isNever(d.old.expand(others)) {
		out = append(out, others)
	}
	return out
}

func has(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok
}
