package openapi

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
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
	files  *yaml.Node
	seen   map[string]bool
}

// bundle reads the files that references name, below the document's own folder,
// and rewrites the references to point into the tree. URLs are refused: nothing
// is fetched.
func bundle(root *yaml.Node, file string) error {
	folder, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer folder.Close()
	b := &bundler{folder: folder, files: &yaml.Node{Kind: yaml.MappingNode}, seen: map[string]bool{}}
	main := filepath.ToSlash(filepath.Base(file))
	b.seen[main] = true
	if err := b.rewrite(root, main, main); err != nil {
		return err
	}
	if len(b.files.Content) > 0 {
		root.Content = append(root.Content, scalar(filesKey), b.files)
	}
	return nil
}

// rewrite mends the references of a tree that was read from file.
func (b *bundler) rewrite(n *yaml.Node, file, main string) error {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if v := n.Content[i+1]; n.Content[i].Value == "$ref" && v.Kind == yaml.ScalarNode {
			ref, err := b.reference(v.Value, file, main)
			if err != nil {
				return fmt.Errorf("line %d: %w", v.Line, err)
			}
			v.Value = ref
		}
	}
	for _, c := range n.Content {
		if err := b.rewrite(c, file, main); err != nil {
			return err
		}
	}
	return nil
}

// reference returns a reference into the tree for one found in file.
func (b *bundler) reference(ref, file, main string) (string, error) {
	target, fragment, _ := strings.Cut(ref, "#")
	if target == "" {
		return within(file, main, fragment), nil
	}
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.HasPrefix(target, "/") {
		// Left as it is: an error where it is used, and none where it is not.
		return ref, nil //nolint:nilerr // see above
	}
	name := path.Clean(path.Join(path.Dir(file), u.Path))
	if b.seen[name] {
		return within(name, main, fragment), nil
	}
	if len(b.seen) >= maxFiles {
		return "", fmt.Errorf("the document refers to more than %d files", maxFiles)
	}
	data, err := b.folder.ReadFile(filepath.FromSlash(name))
	if err != nil {
		return ref, nil //nolint:nilerr // likewise
	}
	tree, err := parse(data)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	b.seen[name] = true
	b.files.Content = append(b.files.Content, scalar(name), tree)
	return within(name, main, fragment), b.rewrite(tree, name, main)
}

// within is a reference into a file's place in the tree.
func within(file, main, fragment string) string {
	if file == main {
		return "#" + fragment
	}
	return "#/" + filesKey + "/" + strings.NewReplacer("~", "~0", "/", "~1", "%", "%25").Replace(file) + fragment
}
