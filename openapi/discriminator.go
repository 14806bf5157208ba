package openapi

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// discriminate says of each alternative of a discriminator which values of the
// property choose it, where the alternative does not say so itself: nothing else
// would tell a model (OpenAPI 3.1, Discriminator Object). It describes and does not
// constrain, because a schema's own name stays valid beside what is mapped.
func (s *schemas) discriminate(n *yaml.Node, branches []*yaml.Node, converted []any) {
	property := text(get(n, "discriminator", "propertyName"))
	for i, branch := range branches {
		ref := text(get(branch, "$ref"))
		var values []string
		for value, target := range members(get(n, "discriminator", "mapping")) {
			if to := text(target); to == ref || !strings.Contains(to, "/") && strings.HasSuffix(ref, "/"+to) {
				values = append(values, string(data(scalar(value))))
			}
		}
		if name := ref[strings.LastIndexByte(ref, '/')+1:]; values == nil && property != "" && ref != "" {
			values = []string{string(data(scalar(pointerUnescaper.Replace(unescapeFragment(name)))))} // the schema's own name
		}
		described := s.property(branch, property)
		if ref == "" || len(values) == 0 || get(described, "enum") != nil || get(described, "const") != nil {
			continue
		}
		alternative := slices.Clone(converted[i].(object))
		about := "Chosen by " + property + ": " + strings.Join(values, " or ") + "."
		if own, _ := alternative.get("description"); own != nil {
			about = sentence(own.(string)) + " " + about
		} else if def, _ := s.definition(alternative); def != nil {
			if own, _ := def.get("description"); own != nil {
				about = sentence(own.(string)) + " " + about
			}
		}
		alternative.set("description", shortenText(about, maxText))
		converted[i] = ordered(alternative)
	}
}
