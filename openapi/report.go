package openapi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// bytesPerToken is how many bytes of a tool list make one token of a model, about:
// measured on English descriptions and JSON Schema with common tokenizers, it is
// between 3.5 and 4.5.
const bytesPerToken = 4

// Report says what became of a document.
type Report struct {
	Document   string    `json:"document"`
	Operations int       `json:"operations"`
	Tools      int       `json:"tools"`
	LeftOut    []LeftOut `json:"left_out"`
	// LongestName is the longest tool name.
	LongestName string `json:"longest_name"`
	// Tokens estimates what the list of tools costs every conversation; Costs has
	// each tool's share, the most expensive first.
	Tokens int    `json:"tokens"`
	Costs  []Cost `json:"costs"`
	// NoCredential names tools that send no credential, PartCredential those whose
	// operation asks for several at once, of which only the first is sent, and
	// Destructive those that may destroy something.
	NoCredential   []string `json:"no_credential"`
	PartCredential []string `json:"part_credential"`
	Destructive    []string `json:"destructive"`
	// OwnServers names tools whose operation has servers of its own; their requests
	// go to the gateway's one URL all the same.
	OwnServers []string `json:"own_servers"`
	// Dangling names tools whose schemas refer to what is not there; that part of them
	// accepts anything.
	Dangling    []string `json:"dangling"`
	danglingRef string   // the first of those
	// Portability are traits of schemas that some clients do not understand.
	Portability []Finding `json:"portability"`
}

// Cost is what one tool adds to the list.
type Cost struct {
	Tool   string `json:"tool"`
	Tokens int    `json:"tokens"`
}

// Finding is a trait and the tools that have it.
type Finding struct {
	Trait string   `json:"trait"`
	Tools []string `json:"tools"`
}

// Report reads the document and says what would become of it.
func (d *Document) Report() (*Report, error) {
	a, err := d.api()
	if err != nil {
		return nil, err
	}
	r := &Report{Document: d.name, Operations: len(a.tools) + len(a.left), Tools: len(a.tools), LeftOut: a.left}
	traits := []Finding{
		{Trait: "refers to $defs"}, {Trait: "has anyOf, oneOf or allOf inside"}, {Trait: "has more than 50 arguments"},
		{Trait: "has an enum of more than 50 values"}, {Trait: "costs more than 2,000 tokens"},
	}
	for _, t := range a.tools {
		schema := string(appendJSON(nil, t.inputSchema))
		cost := Cost{t.name, (len(appendJSON(nil, t.definition())) + len(schema)) / bytesPerToken}
		r.Costs = append(r.Costs, cost)
		r.Tokens += cost.Tokens
		if len(t.name) > len(r.LongestName) {
			r.LongestName = t.name
		}
		switch {
		case t.auth == nil:
			r.NoCredential = append(r.NoCredential, t.name)
		case t.auth.partial:
			r.PartCredential = append(r.PartCredential, t.name)
		}
		if t.dangling != nil {
			r.Dangling = append(r.Dangling, t.name)
			r.danglingRef = orElse(r.danglingRef, printable(t.dangling[0]))
		}
		if t.ownServers {
			r.OwnServers = append(r.OwnServers, t.name)
		}
		if destructive, _ := t.annotations.get("destructiveHint"); destructive == true {
			r.Destructive = append(r.Destructive, t.name)
		}
		for i, has := range []bool{
			strings.Contains(schema, `"$ref":"#/$defs/`),
			strings.Contains(schema, `"anyOf":[`) || strings.Contains(schema, `"oneOf":[`) || strings.Contains(schema, `"allOf":[`),
			len(t.args) > 50, largestEnum(t.inputSchema) > 50, cost.Tokens > 2000,
		} {
			if has {
				traits[i].Tools = append(traits[i].Tools, t.name)
			}
		}
	}
	r.Portability = slices.DeleteFunc(traits, func(f Finding) bool { return f.Tools == nil })
	slices.SortFunc(r.Costs, func(x, y Cost) int { return cmp.Or(cmp.Compare(y.Tokens, x.Tokens), strings.Compare(x.Tool, y.Tool)) })
	return r, nil
}

func largestEnum(v any) int {
	most := 0
	switch v := v.(type) {
	case object:
		for _, m := range v {
			if values, ok := m.value.([]any); ok && m.key == "enum" {
				most = max(most, len(values))
			} else {
				most = max(most, largestEnum(m.value))
			}
		}
	case []any:
		for _, e := range v {
			most = max(most, largestEnum(e))
		}
	}
	return most
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	p("document       %s", r.Document)
	p("operations     %d", r.Operations)
	p("tools          %d", r.Tools)
	p("left out       %d", len(r.LeftOut))
	for _, l := range r.LeftOut {
		p("  %s: %s", l.Operation, l.Reason)
	}
	p("longest name   %d characters: %s", len(r.LongestName), r.LongestName)
	p("tokens         about %d for the whole list (%d bytes each)", r.Tokens, bytesPerToken)
	for _, c := range r.Costs[:min(5, len(r.Costs))] {
		p("  %5d  %s", c.Tokens, c.Tool)
	}
	p("no credential  %s", counted(r.NoCredential))
	if r.PartCredential != nil {
		p("part of it     %s: several credentials at once are asked for; one is sent", counted(r.PartCredential))
	}
	p("destructive    %s", counted(r.Destructive))
	if r.OwnServers != nil {
		p("own servers    %s: their requests go to the one URL that is configured", counted(r.OwnServers))
	}
	if r.Dangling != nil {
		p("broken $ref    %s: one such as %s cannot be followed (only #/… and files beside the document are), so anything is accepted there", counted(r.Dangling), r.danglingRef)
	}
	for _, f := range r.Portability {
		p("portability    %s: %s", f.Trait, counted(f.Tools))
	}
}

// counted is a number of tools and the first of them.
func counted(tools []string) string {
	if len(tools) == 0 {
		return "none"
	}
	names := strings.Join(tools[:min(3, len(tools))], ", ")
	if len(tools) > 3 {
		names += ", …"
	}
	return fmt.Sprintf("%d (%s)", len(tools), names)
}
