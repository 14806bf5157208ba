package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/postern-mcp/postern/apiclient/transport"
	"github.com/postern-mcp/postern/gateway"
)

// maxTokenFile bounds what is read of a token file.
const maxTokenFile = 8 << 10

// tokenSource returns the function that stdio and the command line get their
// token from: the environment's, else the file's, read again when it changes.
func tokenSource(c *gateway.CatalogV1, file string) func() (transport.Token, error) {
	if value, ok := os.LookupEnv(c.EnvPrefix + "_TOKEN"); ok && value != "" {
		token, err := transport.NewToken(value)
		if err != nil {
			err = fmt.Errorf("%s_TOKEN: %w", c.EnvPrefix, err)
		}
		return func() (transport.Token, error) { return token, err }
	}
	if file == "" {
		return func() (transport.Token, error) { return transport.Token{}, errNoToken(c) }
	}
	f := &tokenFile{path: file}
	return f.token
}

// tokenFile is a token in a file, for rotation without a restart.
type tokenFile struct {
	path string

	mu       sync.Mutex
	current  transport.Token
	modified time.Time
	size     int64
}

// token reads the file if it changed since the last time. While a new file is
// unreadable or malformed, for instance half written, the last good token stays.
func (f *tokenFile) token() (transport.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err == nil && !f.current.IsZero() && info.ModTime().Equal(f.modified) && info.Size() == f.size {
		return f.current, nil
	}
	if err == nil {
		var token transport.Token
		if token, err = readToken(f.path); err == nil {
			f.current, f.modified, f.size = token, info.ModTime(), info.Size()
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

func readToken(path string) (transport.Token, error) {
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
