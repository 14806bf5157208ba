package openapi

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// filesKey is where bundle puts other files; no document has a member of that name.
const filesKey = "x-postern-files"

// maxFiles bounds how many files a document may be spread over.
const maxFiles = 2000

// bundler brings the files that a document refers to into its tree.
type bundler struct {
	folder *os.Root // of the main document: nothing outside is read
	main   string
	files  *yaml.Node
	ids    identifiers
	bundled
}

// bundled is what bundle has done.
type bundled struct {
	names   []string         // of the files that were read, below the document's folder
	changed bool             // a reference is spelled otherwise than before
	unread  map[string]error // why a reference was left as it is, by reference
}

// bundle reads the files that references name, below the document's own folder,
// and rewrites the references to point into the tree. URLs are refused: nothing
// is fetched.
func bundle(root *yaml.Node, file string) (bundled, error) {
	folder, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return bundled{}, err
	}
	defer folder.Close()
	main := filepath.ToSlash(filepath.Base(file))
	b := &bundler{folder: folder, main: main, files: &yaml.Node{Kind: yaml.MappingNode}, ids: identifiers{}, bundled: bundled{unread: map[string]error{}}}
	if err := b.add(root, main); err != nil {
		return bundled{}, err
	}
	if len(b.files.Content) > 0 {
		root.Content = append(root.Content, scalar(filesKey), b.files)
	}
	return b.bundled, nil
}

// add takes a tree that was read from file in.
func (b *bundler) add(tree *yaml.Node, file string) error {
	b.names = append(b.names, file)
	in := resource{file: file, base: fileURL(file), at: b.within(file, "")}
	b.ids.collect(tree, in, in.at)
	return b.rewrite(tree, in)
}

// rewrite mends the references of a tree that belongs to a resource.
func (b *bundler) rewrite(n *yaml.Node, in resource) error {
	if own, ok := b.ids[in.identified(n)]; ok {
		in = own
	}
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if v := n.Content[i+1]; n.Content[i].Value == "$ref" && v.Kind == yaml.ScalarNode {
			ref, err := b.reference(v.Value, in)
			if err != nil {
				return fmt.Errorf("line %d: %w", v.Line, err)
			}
			b.changed = b.changed || v.Value != ref
			v.Value = ref
		}
	}
	for _, c := range n.Content {
		if err := b.rewrite(c, in); err != nil {
			return err
		}
	}
	return nil
}

// reference returns a reference into the tree for one found in a resource.
func (b *bundler) reference(ref string, in resource) (string, error) {
	if target, ok := b.ids.find(ref, in); ok {
		return target, nil
	}
	target, fragment, _ := strings.Cut(ref, "#")
	if target == "" {
		return b.within(in.file, fragment), nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.HasPrefix(target, "/") {
		// Left as it is: an error where it is used, and none where it is not.
		return ref, nil //nolint:nilerr // see above
	}
	name := path.Clean(path.Join(path.Dir(in.file), u.Path))
	if !slices.Contains(b.names, name) {
		if len(b.names) >= maxFiles {
			return "", fmt.Errorf("the document refers to more than %d files", maxFiles)
		}
		// What cannot be read may stand in an example, or where nobody looks.
		data, err := b.folder.ReadFile(filepath.FromSlash(name))
		if err != nil {
			b.unread[ref] = err
			return ref, nil //nolint:nilerr // noted
		}
		tree, err := parse(data)
		if err != nil {
			b.unread[ref] = fmt.Errorf("%s: %w", name, err)
			return ref, nil //nolint:nilerr // noted
		}
		b.files.Content = append(b.files.Content, scalar(name), tree)
		if err := b.add(tree, name); err != nil {
			return "", err
		}
	}
	if target, ok := b.ids.find("#"+fragment, resource{base: fileURL(name)}); ok { // an anchor
		return target, nil
	}
	return b.within(name, fragment), nil
}

// within is a reference into a file's place in the tree.
func (b *bundler) within(file, fragment string) string {
	if file == b.main {
		return "#" + fragment
	}
	return "#/" + filesKey + "/" + escapePointer(file) + fragment
}

// escapePointer writes a key as a part of a JSON pointer in a URI fragment (RFC 6901,
// sections 3 and 6).
func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "%", "%25").Replace(key)
}
