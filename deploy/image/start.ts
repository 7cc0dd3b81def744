/** What the image runs: `start.ts <name> [flags]`, one process of a service or one step. */
const [, , name = '', ...flags] = process.argv
process.argv.splice(2, Infinity, ...flags)

const services = ['admin', 'auth', 'directory', 'gateway', 'messaging', 'realtime', 'worker']
const steps = ['migrate', 'setup']

/** A program, not a package's export: it is started as `node services/<name>/src/main.ts` would start it. */
const program = services.includes(name)
  ? `../../services/${name}/src/main.ts`
  : steps.includes(name)
    ? `./${name}.ts`
    : undefined
if (program === undefined) {
  process.stderr.write(`Name what to start: ${[...services, ...steps].join(', ')}\n`)
  process.exit(64)
}
await import(new URL(program, import.meta.url).href)
