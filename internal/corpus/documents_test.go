// Package corpus proves the generator on real documents: it makes a gateway of
// each, builds it, and calls every tool of it against a server that holds what
// arrives against the document, by a library the generator shares no code with.
//
//	document --generate, build--> gateway --tools/call--> request --kin-openapi--> document
//
// The documents are not part of the project. A few are tried by default, others
// where the environment variable POSTERN_CORPUS names them, separated by commas,
// or is "all".
package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder is where the documents are, as seen from this package.
const folder = "../../../shared/specs"

// subset are documents of different kinds that are quick to build.
var subset = []string{
	"alertmanager-v2.yaml",        // Swagger 2.0
	"rundeck-project.yaml",        // Swagger 2.0, forms
	"flipt.yaml",                  // 3.0, made from protobuf
	"devtron-deploytemplate.yaml", // 3.0, multipart
	"ory-keto.json",               // 3.0, JSON
	"powerdns-auth.yaml",          // 3.1
	"resend.yaml",                 // 3.1, path parameters everywhere
	"kong-mesh-cp.yaml",           // 3.0, deepObject and large unions
}

// documents are the files to be tried in this run.
func documents(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Skipf("the documents are not here: %v", err)
	}
	var all []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == ".yaml" || ext == ".json" {
			all = append(all, e.Name())
		}
	}
	switch chosen := os.Getenv("POSTERN_CORPUS"); chosen {
	case "":
		return subset
	case "all":
		return all
	default:
		return strings.Split(chosen, ",")
	}
}

// held reports a run over a set of documents that the floors are meant for, and not
// over some that were picked to be looked at.
func held() bool {
	chosen := os.Getenv("POSTERN_CORPUS")
	return chosen == "" || chosen == "all"
}
