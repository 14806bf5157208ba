package openapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReleasedContractsAreFrozen(t *testing.T) {
	const loose, tight = `{"properties":{"a":{}}}`, `{"properties":{"a":{"type":"string"}}}`
	contract := func(version, schema string) string { return strings.Replace(toolOf(schema), "1.0.0", version, 1) }
	const file = "/mcp-tools.json"
	for _, c := range []struct {
		name    string
		there   map[string]string // below contracts
		version string
		schema  string
		want    []string // parts of the error; none: it passes
	}{
		{"nothing there", nil, "1.0.0", loose, nil},
		{"nothing released", map[string]string{"1.0.0" + file: "anything"}, "1.0.0", loose, nil},
		{"unchanged", map[string]string{"1.0.0/RELEASED": "", "1.0.0" + file: contract("1.0.0", loose)}, "1.0.0", loose, nil},
		{"changed harmlessly", map[string]string{"1.0.0/RELEASED": "", "1.0.0" + file: contract("1.0.0", tight)}, "1.0.0", loose,
			[]string{"contracts/1.0.0 is released and frozen, but contracts/1.0.0/mcp-tools.json would change", "raise x-mcp contract-version"}},
		{"changed", map[string]string{"1.0.0/RELEASED": "on Monday", "1.0.0" + file: contract("1.0.0", loose)}, "1.0.0", tight,
			[]string{"raise x-mcp contract-version to 2.0.0", "breaking  t /inputSchema/properties/a/type: type narrowed"}},
		{"frozen file lost", map[string]string{"1.0.0/RELEASED": ""}, "1.0.0", loose, []string{"would change; raise", "it is empty"}},
		{"minor is enough", map[string]string{"1.0.0/RELEASED": "", "1.0.0" + file: contract("1.0.0", tight)}, "1.1.0", loose, nil},
		{"minor is not enough", map[string]string{"1.0.0/RELEASED": "", "1.0.0" + file: contract("1.0.0", loose)}, "1.1.0", tight,
			[]string{"contract 1.1.0 breaks callers of 1.0.0", "to 2.0.0", "\n  breaking  t /inputSchema"}},
		{"major is enough", map[string]string{"1.0.0/RELEASED": "", "1.0.0" + file: contract("1.0.0", loose)}, "2.0.0", tight, nil},
		{"before the first major", map[string]string{"0.1.0/RELEASED": "", "0.1.0" + file: contract("0.1.0", loose)}, "0.2.0", tight, nil},
		{"patch before the first major", map[string]string{"0.1.0/RELEASED": "", "0.1.0" + file: contract("0.1.0", loose)}, "0.1.9", tight, []string{"to 0.2.0"}},
		{"numeric order", map[string]string{"1.9.0/RELEASED": "", "1.9.0" + file: contract("1.9.0", tight), "1.10.0/RELEASED": "", "1.10.0" + file: contract("1.10.0", loose)}, "1.11.0", tight,
			[]string{"breaks callers of 1.10.0"}},
		{"lower", map[string]string{"1.10.0/RELEASED": "", "1.10.0" + file: contract("1.10.0", loose)}, "1.9.0", loose, []string{"contract 1.9.0 is not higher than 1.10.0"}},
		{"back to a release", map[string]string{"1.0.0/RELEASED": "", "1.0.0" + file: contract("1.0.0", loose), "1.1.0/RELEASED": "", "1.1.0" + file: "x"}, "1.0.0", loose, nil},
		{"odd names", map[string]string{"RELEASED": "", "1.0.0": "a file", "v9/RELEASED": "", "9.9/RELEASED": "", "09.0.0/RELEASED": "", "9.0.0-rc.1/RELEASED": "", "../x/RELEASED": "", "9.0.0/RELEASED/x": ""}, "1.0.1", loose, nil},
		{"damaged release", map[string]string{"1.0.0/RELEASED": "", "1.0.0" + file: "{"}, "1.1.0", loose, []string{"contracts/1.0.0/mcp-tools.json is no contract"}},
		{"release without a contract", map[string]string{"1.0.0/RELEASED": ""}, "1.1.0", loose, []string{"compare with the released contract", "contracts/1.0.0/mcp-tools.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.there {
				file := filepath.Join(dir, contractsDir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			files := []File{{"docs/tools/t.md", []byte("t")}, {"contracts/" + c.version + file, []byte(contract(c.version, c.schema))}}
			err := CheckReleased(dir, files)
			if len(c.want) == 0 && err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("want %q, got %v", want, err)
				}
			}
		})
	}
	if err := CheckReleased(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a folder that is not there passed")
	}
}

func TestReleasedStockContractPasses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := stock(t).Generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	marker := filepath.Join(dir, contractsDir, understoodStock(t), releasedMarker)
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckReleased(dir, files); err != nil {
		t.Error(err)
	}
	if changes, err := Stale(dir, files); err != nil || len(changes) > 0 {
		t.Errorf("the marker is part of the folder: %v %v", changes, err)
	}
}

func TestAReleasedContractIsSealed(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{"contracts/1.0.0/mcp-tools.json": "{}\n", "contracts/1.0.0/RELEASED": ""})
	for range 2 { // the second time changes nothing
		if err := Seal(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := CheckReleased(dir, nil); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(string) error{
		"was changed":  func(file string) error { return os.WriteFile(file, []byte("{ }\n"), 0o600) },
		"no such file": os.Remove,
	} {
		if err := change(filepath.Join(dir, "contracts", "1.0.0", "mcp-tools.json")); err != nil {
			t.Fatal(err)
		}
		if err := CheckReleased(dir, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
