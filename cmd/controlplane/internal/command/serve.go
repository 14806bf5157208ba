package command

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/postern-mcp/postern/cmd/controlplane/internal/consumer"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/seed"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/server"
	"github.com/postern-mcp/postern/cmd/controlplane/internal/store"
)

// grace is how long requests that are being answered may take to end.
const grace = 5 * time.Second

type options struct {
	listen string
	db     string
	seed   bool
	remote bool
}

// run serves until ctx ends. ready hears the address once it is open.
func run(ctx context.Context, o options, log *slog.Logger, ready func(net.Addr)) (err error) {
	// Listening first tells of a port in use before a database is made.
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	db, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	consume := consumer.New(db, log)
	consuming, stop := context.WithCancel(ctx)
	var consumed sync.WaitGroup
	consumed.Go(func() { consume.Run(consuming) })
	defer consumed.Wait()
	defer stop()

	srv := &http.Server{
		Handler:           server.New(db, consume.Wake, log),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(listener) }()
	ready(listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(srv.Shutdown(ending), closed(<-served))
}

func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func open(ctx context.Context, o options) (*store.Store, error) {
	db, err := store.Open(ctx, o.db)
	if err != nil || !o.seed {
		return db, err
	}
	empty, err := db.Empty(ctx)
	if err == nil && empty {
		err = seed.Fill(ctx, db, time.Now())
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}
