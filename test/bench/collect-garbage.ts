/** Preloaded into the process whose memory is measured: SIGUSR2 collects what is no longer used. */
process.on('SIGUSR2', () => globalThis.gc?.())
