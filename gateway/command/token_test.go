package command

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestATokenFileIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	write := func(to, value string) {
		t.Helper()
		if err := os.WriteFile(to, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
		// The same time for every version: only the file itself differs.
		if err := os.Chtimes(to, time.Time{}, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	f := &tokenFile{path: path}
	holds := func(step, want string) {
		t.Helper()
		token, err := f.token()
		if want == "" {
			if err == nil {
				t.Errorf("%s: there is still a token", step)
			}
			return
		}
		if masked := string(token.Mask([]byte(want))); err != nil || masked != "[redacted]" {
			t.Errorf("%s: %v, or another token", step, err)
		}
	}
	holds("no file", "")
	write(path, "first-token\n")
	holds("written", "first-token")
	holds("unchanged", "first-token")
	write(path+".new", "other-token\n")
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	holds("replaced by one of the same size and time", "other-token")
	write(path, "two words in it")
	holds("half written", "other-token")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	holds("removed", "")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	holds("a pipe", "")
}
