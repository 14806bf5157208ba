package openapi

import "strconv"

// compareCombined compares anyOf, oneOf, allOf and not. It reports true when that
// was all there is: one side is nothing but a choice or a conjunction, so the
// other counts as one with a single branch.
func (d *differ) compareCombined(ptr string, o, n schema) bool {
	was, is := o.soleCombiner(), n.soleCombiner()
	switch { // where both have the keyword, it is compared as such
	case was != is && (has(o, is) || has(n, was)):
	case was != "anyOf" && was != "oneOf" && is != "anyOf" && is != "oneOf" && was+is != "":
		d.conjunction(ptr, branches(d.old, o, was), branches(d.new, n, is))
		return true
	case was != "allOf" && is != "allOf" && was+is != "":
		d.choice(ptr, was, branches(d.old, o, was), is, branches(d.new, n, is))
		return true
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not"} {
		before, after := o[key], n[key]
		switch {
		case before == nil || after == nil:
			d.changed(constraint, ptr+"/"+key, key, before, after)
		case key == "allOf":
			d.conjunction(ptr, o.list(key), n.list(key))
		case key != "not":
			d.choice(ptr, key, o.list(key), key, n.list(key))
		case d.verdict(before, after) != Cosmetic:
			d.add(Breaking, ptr+"/not", "not changed")
		default:
			d.compare(ptr+"/not", before, after)
		}
	}
	return false
}

// branches are those of the combiner, or the schema as the only one.
func branches(s *side, of schema, combiner string) []any {
	if combiner == "" {
		return []any{map[string]any(s.bare(of))}
	}
	return of.list(combiner)
}

// choice compares alternatives. Each old one must be part of a new one.
func (d *differ) choice(ptr, was string, old []any, is string, new []any) {
	at := func(j int) string {
		if is == "" {
			return ptr
		}
		return ptr + "/" + is + "/" + strconv.Itoa(j)
	}
	pairs, gone, added := match(len(old), len(new), func(i, j int) Class { return d.verdict(old[i], new[j]) })
	if is == "oneOf" && !d.new.disjoint(new) {
		// Exactly one may match: accepting more in one alternative can refuse
		// what another accepted.
		same := was == "oneOf" && len(gone)+len(added) == 0
		for _, p := range pairs {
			same = same && d.verdict(old[p[0]], new[p[1]]) == Cosmetic
		}
		if !same {
			d.add(Breaking, ptr+"/oneOf", "oneOf changed; alternatives may overlap")
			return
		}
	}
	for _, p := range pairs {
		d.compare(at(p[1]), old[p[0]], new[p[1]])
	}
	if len(gone) == 1 && len(added) == 1 { // the same alternative, changed
		d.compare(at(added[0]), old[gone[0]], new[added[0]])
		return
	}
	for _, i := range gone {
		d.add(Breaking, ptr, "alternative %s removed or narrowed", show(old[i]))
	}
	for _, j := range added {
		d.add(Additive, at(j), "alternative %s added", show(new[j]))
	}
	if was == "oneOf" && is == "anyOf" {
		d.add(Additive, ptr, "oneOf became anyOf")
	}
}

// conjunction compares conditions that must all hold. Each new one must accept
// what an old one accepts.
func (d *differ) conjunction(ptr string, old, new []any) {
	pairs, added, gone := match(len(new), len(old), func(j, i int) Class { return d.verdict(old[i], new[j]) })
	at := func(j int) string { return ptr + "/allOf/" + strconv.Itoa(j) }
	for _, p := range pairs {
		d.compare(at(p[0]), old[p[1]], new[p[0]])
	}
	if len(gone) == 1 && len(added) == 1 {
		d.compare(at(added[0]), old[gone[0]], new[added[0]])
		return
	}
	for _, j := range added {
		d.add(Breaking, at(j), "condition %s added or tightened", show(new[j]))
	}
	for _, i := range gone {
		d.add(Additive, ptr+"/allOf", "condition %s dropped", show(old[i]))
	}
}

// match pairs each of a things with one of b things: an equal one, else one that
// differs harmlessly, which then may serve several. It also returns which of a
// and of b are left.
func match(a, b int, verdict func(i, j int) Class) (pairs [][2]int, leftA, leftB []int) {
	used, paired := make([]bool, b), make([]bool, a)
	take := func(i, j int) {
		pairs = append(pairs, [2]int{i, j})
		used[j], paired[i] = true, true
	}
	for i := range a {
		for k := range b {
			if j := (i + k) % b; !used[j] && verdict(i, j) == Cosmetic { // the one at the same place first
				take(i, j)
				break
			}
		}
	}
	for _, again := range []bool{false, true} {
		for i := range a {
			for j := 0; j < b && !paired[i]; j++ {
				if used[j] == again && verdict(i, j) != Breaking {
					take(i, j)
				}
			}
		}
	}
	for i := range a {
		if !paired[i] {
			leftA = append(leftA, i)
		}
	}
	for j := range b {
		if !used[j] {
			leftB = append(leftB, j)
		}
	}
	return pairs, leftA, leftB
}
