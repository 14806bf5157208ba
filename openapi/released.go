package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

const (
	contractsDir = "contracts"
	contractName = "mcp-tools.json"
	// releasedMarker is the file that marks a folder below contracts as released. It
	// is made empty, and Seal puts the contract's hash into it.
	releasedMarker = "RELEASED"
	sealPrefix     = "sha256:"
)

// Seal writes the hash of each released contract of the module in dir into its empty
// marker, so that a later change by hand is found.
func Seal(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	frozen, _, err := released(root.FS())
	if err != nil {
		return err
	}
	for folder := range frozen {
		marker, err := fs.ReadFile(root.FS(), path.Join(folder, releasedMarker))
		if err != nil || len(bytes.TrimSpace(marker)) > 0 {
			continue
		}
		contract, err := fs.ReadFile(root.FS(), path.Join(folder, contractName))
		if err != nil {
			return err
		}
		if err := root.WriteFile(path.Join(folder, releasedMarker), []byte(seal(contract)+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func seal(contract []byte) string {
	sum := sha256.Sum256(contract)
	return sealPrefix + hex.EncodeToString(sum[:])
}

// sealed checks that a released contract is what its marker says; a marker without a
// hash says nothing.
func sealed(in fs.FS, folder string) error {
	marker, err := fs.ReadFile(in, path.Join(folder, releasedMarker))
	if err != nil {
		return err
	}
	want := strings.TrimSpace(string(marker))
	if !strings.HasPrefix(want, sealPrefix) {
		return nil
	}
	contract, err := fs.ReadFile(in, path.Join(folder, contractName))
	if err != nil {
		return fmt.Errorf("%s is released and frozen: %w", folder, err)
	}
	if seal(contract) != want {
		return fmt.Errorf("%s is released and frozen, but %s was changed; restore what was released, and raise x-mcp contract-version for a change", folder, contractName)
	}
	return nil
}

// CheckReleased fails when the generated files would change a contract that is
// released, in the module in dir. A folder contracts/<version> with a file
// RELEASED in it is released and from then on frozen:
//
//   - Its contract is the one whose hash stands in RELEASED, once it does.
//   - No generated file in it may differ from what is there. Any change at all,
//     be it a word, needs a version of its own.
//   - That version must be higher than the highest released one.
//   - If it breaks callers of the highest released one, its major number must be
//     higher too; while the major number is 0, the minor number (semantic
//     versioning 2.0.0, sections 4 and 8). Additive and cosmetic changes may
//     take any higher version: sections 6 and 7 would tell minor from patch, but
//     no caller is harmed by the wrong one of these.
//
// Released folders whose names are no versions are frozen like the others, but
// nothing is compared with them. Nothing released: nil.
func CheckReleased(dir string, files []File) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	frozen, highest, err := released(root.FS())
	if err != nil {
		return err
	}
	for _, folder := range slices.Sorted(maps.Keys(frozen)) {
		if err := sealed(root.FS(), folder); err != nil {
			return err
		}
	}
	for _, f := range files {
		if frozen[path.Dir(f.Path)] {
			if err := unchanged(root.FS(), f); err != nil {
				return err
			}
		}
	}
	for _, f := range files {
		if path.Base(f.Path) == contractName && path.Dir(path.Dir(f.Path)) == contractsDir && !frozen[path.Dir(f.Path)] && highest != "" {
			return follows(root.FS(), highest, f)
		}
	}
	return nil
}

// released lists the released folders and the highest version among them.
func released(in fs.FS) (frozen map[string]bool, highest string, err error) {
	entries, err := fs.ReadDir(in, contractsDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	frozen = map[string]bool{}
	for _, e := range entries {
		folder := path.Join(contractsDir, e.Name())
		marker, err := fs.Stat(in, path.Join(folder, releasedMarker))
		switch {
		case !e.IsDir() || errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, "", err
		case marker.IsDir():
			continue
		}
		frozen[folder] = true
		if isVersion(e.Name()) && (highest == "" || semver.Compare("v"+e.Name(), "v"+highest) > 0) {
			highest = e.Name()
		}
	}
	return frozen, highest, nil
}

// unchanged checks a file that lies in a released folder.
func unchanged(in fs.FS, f File) error {
	have, err := fs.ReadFile(in, f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if bytes.Equal(have, f.Data) {
		return nil
	}
	version := path.Base(path.Dir(f.Path))
	text := fmt.Sprintf("%s is released and frozen, but %s would change; raise x-mcp contract-version", path.Dir(f.Path), f.Path)
	diff, err := diffContracts(f.Path, have, "the generated contract", f.Data)
	if err != nil { // the frozen one is damaged; what to do stays the same
		return fmt.Errorf("%s (%w)", text, err)
	}
	if diff.Breaking() {
		return fmt.Errorf("%s to %s%s", text, nextBreaking(version), breakingList(diff))
	}
	return errors.New(text)
}

// follows checks a new version against the highest released one.
func follows(in fs.FS, highest string, f File) error {
	version := path.Base(path.Dir(f.Path))
	if semver.Compare("v"+version, "v"+highest) <= 0 {
		return fmt.Errorf("contract %s is not higher than %s, which is released; raise x-mcp contract-version", version, highest)
	}
	name := path.Join(contractsDir, highest, contractName)
	have, err := fs.ReadFile(in, name)
	if err != nil {
		return fmt.Errorf("compare with the released contract: %w", err)
	}
	diff, err := diffContracts(name, have, "the generated contract", f.Data)
	if err != nil {
		return err
	}
	if next := nextBreaking(highest); diff.Breaking() && semver.Compare("v"+version, "v"+next) < 0 {
		return fmt.Errorf("contract %s breaks callers of %s, which is released; raise x-mcp contract-version to %s%s", version, highest, next, breakingList(diff))
	}
	return nil
}

// nextBreaking is the lowest version that may break callers of the given one.
func nextBreaking(version string) string {
	var major, minor, patch int
	_, _ = fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch) // isVersion holds
	if major == 0 {
		return fmt.Sprintf("0.%d.0", minor+1)
	}
	return fmt.Sprintf("%d.0.0", major+1)
}

func breakingList(d *Diff) string {
	var b strings.Builder
	for _, c := range d.Changes {
		if c.Class == Breaking {
			b.WriteString("\n  " + c.String())
		}
	}
	return b.String()
}
