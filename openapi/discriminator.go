package openapi

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// discriminate says in each alternative of a discriminator which values of the
// property choose it, where the document maps them and the alternative does not say
// so itself: nothing else would tell a model (OpenAPI 3.1, Discriminator Object). A
// name that is only implied is left alone, since many APIs spell it otherwise.
func (s *schemas) discriminate(n *yaml.Node, branches []*yaml.Node, converted []any) {
	property := text(get(n, "discriminator", "propertyName"))
	for i, branch := range branches {
		ref := text(get(branch, "$ref"))
		var values []any
		for value, target := range members(get(n, "discriminator", "mapping")) {
			if to := text(target); to == ref || !strings.Contains(to, "/") && strings.HasSuffix(ref, "/"+to) {
				values = append(values, data(scalar(value)))
			}
		}
		described := s.property(branch, property)
		if ref == "" || len(values) == 0 || get(described, "enum") != nil || get(described, "const") != nil || s.readOnly(described) {
			continue
		}
		chosen := object{{"enum", values}}
		if len(values) == 1 {
			chosen = object{{"const", values[0]}}
		}
		converted[i] = object{{"allOf", []any{converted[i], object{{"properties", object{{property, chosen}}}, {"required", []string{property}}}}}}
	}
}
