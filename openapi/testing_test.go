package openapi

import (
	"os"
	"path/filepath"
	"testing"
)

// minimal is the head of every document made by a test.
const minimal = `openapi: 3.1.0
info: {title: Shop, version: "1"}
servers: [{url: "https://shop.example.com/api/v2/"}]
x-mcp: {server: {name: shop, title: Shop}, env-prefix: SHOP}
`

// understood parses a document that must be fine.
func understood(t *testing.T, doc string) *api {
	t.Helper()
	d, err := Parse([]byte(doc), "doc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.api()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// fault parses a document that must be refused and returns why.
func fault(t *testing.T, doc string) string {
	t.Helper()
	d, err := Parse([]byte(doc), "doc.yaml")
	if err == nil {
		_, err = d.api()
	}
	if err == nil {
		t.Fatal("the document was accepted")
	}
	return err.Error()
}

// module makes a folder with a go.mod to generate into.
func moduleDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/shop\n\ngo 1.26\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// folderOf makes a folder of files, whose names may hold slashes.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, files)
	return dir
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
