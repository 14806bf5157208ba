package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
)

// Class says what a change of the contract does to those who rely on it.
type Class string

// The classes, the most serious first.
const (
	// Breaking: a call that worked may be refused, do something else or fail in
	// another way. What cannot be shown to be harmless counts as breaking.
	Breaking Class = "breaking"
	// Additive: every call that worked still works, and more is promised.
	Additive Class = "additive"
	// Cosmetic: only words changed.
	Cosmetic Class = "cosmetic"
)

var classes = []Class{Breaking, Additive, Cosmetic}

// ContractChange is one difference between two contracts.
type ContractChange struct {
	Class Class `json:"class"`
	// Tool is the tool's name, the old one if it was renamed; empty for what
	// belongs to no tool.
	Tool string `json:"tool,omitempty"`
	// Pointer is a JSON pointer (RFC 6901) from the tool, or from the contract if
	// there is no tool, as if all references were written out in place.
	Pointer string `json:"pointer"`
	What    string `json:"what"`
}

// Diff is what changed between two contracts: breaking changes first, then by
// tool and pointer.
type Diff struct {
	Changes []ContractChange `json:"changes"`
}

// Breaking reports whether any of the changes is breaking.
func (d *Diff) Breaking() bool { return d.count(Breaking) > 0 }

func (d *Diff) count(class Class) int {
	n := 0
	for _, c := range d.Changes {
		if c.Class == class {
			n++
		}
	}
	return n
}

// Print writes the changes for people, one a line, and their number.
func (d *Diff) Print(w io.Writer) {
	if len(d.Changes) == 0 {
		fmt.Fprintln(w, "no changes")
		return
	}
	for _, c := range d.Changes {
		fmt.Fprintln(w, c)
	}
	fmt.Fprintf(w, "\n%d breaking, %d additive, %d cosmetic\n", d.count(Breaking), d.count(Additive), d.count(Cosmetic))
}

// String is the change in one line. Contracts hold text of other people's
// documents, which must not reach a terminal as control sequences.
func (c ContractChange) String() string {
	line := fmt.Sprintf("%-8s  ", c.Class)
	if c.Tool != "" {
		line += c.Tool + " "
	}
	if c.Pointer != "" {
		line += c.Pointer
	}
	line = strings.TrimRight(line, " ") + ": " + c.What
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, line)
}

// DiffContracts compares two contracts, the contents of mcp-tools.json. The
// order of tools, arguments, scopes and errors is no difference, and neither is
// whether a definition is referred to or written out.
func DiffContracts(old, new []byte) (*Diff, error) {
	return diffContracts("old contract", old, "new contract", new)
}

// DiffFiles compares two contract files; errors name the file by the path given.
func DiffFiles(old, new string) (*Diff, error) {
	before, err := os.ReadFile(old)
	if err != nil {
		return nil, err
	}
	after, err := os.ReadFile(new)
	if err != nil {
		return nil, err
	}
	return diffContracts(old, before, new, after)
}

func diffContracts(oldName string, old []byte, newName string, new []byte) (*Diff, error) {
	before, err := parseContract(oldName, old)
	if err != nil {
		return nil, err
	}
	after, err := parseContract(newName, new)
	if err != nil {
		return nil, err
	}
	changes := slices.Concat(before.compareRoot(after), before.compareTools(after))
	slices.SortFunc(changes, func(x, y ContractChange) int {
		return cmp.Or(
			slices.Index(classes, x.Class)-slices.Index(classes, y.Class),
			strings.Compare(x.Tool, y.Tool), strings.Compare(x.Pointer, y.Pointer), strings.Compare(x.What, y.What))
	})
	// A list, also when it is empty: readers of the JSON form rely on it. The
	// same change can be met twice where two alternatives became one.
	return &Diff{Changes: append([]ContractChange{}, slices.Compact(changes)...)}, nil
}

// contract is an mcp-tools.json as read.
type contract struct {
	tools map[string]*contractTool
	rest  map[string]any // everything but the tools
}

type contractTool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Annotations map[string]any  `json:"annotations"`
	InputSchema any             `json:"inputSchema"`
	Method      string          `json:"method"`
	Path        string          `json:"path"`
	Scopes      []string        `json:"scopes"`
	Errors      []contractError `json:"errors"`

	rest map[string]any // members this version does not know
}

type contractError struct {
	Status any    `json:"status"` // a number, "4XX" or "default"; nil for the gateway's own
	Code   string `json:"code"`
	When   string `json:"when"`
}

func parseContract(name string, data []byte) (*contract, error) {
	c := &contract{tools: map[string]*contractTool{}}
	if err := readJSON(data, &c.rest); err != nil {
		return nil, fmt.Errorf("%s is no contract: %w", name, err)
	}
	var list struct {
		Tools *[]json.RawMessage `json:"tools"`
	}
	if err := readJSON(data, &list); err != nil {
		return nil, fmt.Errorf("%s is no contract: %w", name, err)
	}
	if list.Tools == nil {
		return nil, fmt.Errorf("%s is no contract: it has no list of tools", name)
	}
	delete(c.rest, "tools")
	for i, raw := range *list.Tools {
		t := &contractTool{}
		err := errors.Join(readJSON(raw, t), readJSON(raw, &t.rest))
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s is no contract: tool %d: %w", name, i, err)
		case t.Name == "":
			return nil, fmt.Errorf("%s is no contract: tool %d has no name", name, i)
		case c.tools[t.Name] != nil:
			return nil, fmt.Errorf("%s is no contract: two tools are named %q", name, t.Name)
		}
		for _, known := range []string{"name", "title", "description", "annotations", "inputSchema", "method", "path", "scopes", "errors"} {
			delete(t.rest, known)
		}
		c.tools[t.Name] = t
	}
	return c, nil
}

// readJSON reads one JSON value and nothing after it, numbers as spelled.
func readJSON(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("it is empty")
		}
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}
