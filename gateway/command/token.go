package command

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/postern-mcp/postern/apiclient/transport"
	"github.com/postern-mcp/postern/gateway"
)

// maxTokenFile bounds what is read of a token file.
const maxTokenFile = 8 << 10

// tokenSource returns the function that stdio and the command line get their
// credential from. A token is, by the precedence of every setting, that of a file named
// on the command line, of the variable, of a file named elsewhere; a file is read
// again when it changes. A user and a password come from their variables.
func tokenSource(c *gateway.CatalogV1, s *settings, file string) func() (transport.Token, error) {
	value, pair := os.Getenv(c.EnvPrefix+"_TOKEN"), basicPair(c.EnvPrefix)
	token := func() (transport.Token, error) { return transport.NewToken(value) }
	switch {
	case file != "" && (value == "" || s.row("token-file").source == "flag"):
		token = (&tokenFile{path: file}).token
	case value == "" && pair == "":
		return func() (transport.Token, error) { return transport.Token{}, errNoToken(c) }
	case value == "":
		token = func() (transport.Token, error) { return transport.Token{}, nil }
	default:
		made, err := token()
		if err != nil {
			err = fmt.Errorf("%s_TOKEN: %w", c.EnvPrefix, err)
		}
		token = func() (transport.Token, error) { return made, err }
	}
	if pair == "" {
		return token
	}
	return func() (transport.Token, error) {
		t, err := token()
		if err != nil {
			return t, err
		}
		return t.WithBasic(pair)
	}
}

// basicPair is the user and the password of the environment as HTTP Basic sends
// them (RFC 7617, section 2), "" if they are not set.
func basicPair(prefix string) string {
	user, password := os.Getenv(prefix+"_USERNAME"), os.Getenv(prefix+"_PASSWORD")
	if user == "" {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// tokenFile is a token in a file, for rotation without a restart.
type tokenFile struct {
	path string

	mu      sync.Mutex
	current transport.Token
	read    fs.FileInfo // of the file that current is from
}

// token reads the file if it changed since the last time. While a new file is
// unreadable or malformed, for instance half written, the last good token stays;
// when there is no file any more, it is gone.
func (f *tokenFile) token() (transport.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.current = transport.Token{}
	}
	if err == nil && !f.current.IsZero() && os.SameFile(info, f.read) && info.ModTime().Equal(f.read.ModTime()) && info.Size() == f.read.Size() {
		return f.current, nil
	}
	if err == nil {
		var token transport.Token
		if token, err = readToken(f.path, info); err == nil {
			f.current, f.read = token, info
			return token, nil
		}
	}
	if !f.current.IsZero() {
		return f.current, nil
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return transport.Token{}, fmt.Errorf("the token file %s: %w", f.path, err)
}

func readToken(path string, info fs.FileInfo) (transport.Token, error) {
	if !info.Mode().IsRegular() { // to open a pipe could wait for ever
		return transport.Token{}, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return transport.Token{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return transport.Token{}, err
	}
	return transport.NewToken(strings.TrimSpace(string(data)))
}
