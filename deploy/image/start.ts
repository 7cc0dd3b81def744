/** What the image runs: `start.ts <name> [flags]`, one process of a service, `setup`, or `parley` with one of its commands. */
const [, , name = '', ...flags] = process.argv
process.argv.splice(2, Infinity, ...flags)

const services = ['admin', 'auth', 'directory', 'gateway', 'messaging', 'realtime', 'worker']

/** A program, not a package's export: it is started as `node services/<name>/src/main.ts` would start it. */
const programs: Record<string, string> = {
  ...Object.fromEntries(services.map((service) => [service, `../../services/${service}/src/main.ts`])),
  setup: './setup.ts',
  parley: '../cli/parley.mjs',
}
const program = Object.hasOwn(programs, name) ? programs[name] : undefined
if (program === undefined) {
  process.stderr.write(`Name what to start: ${Object.keys(programs).join(', ')}\n`)
  process.exit(64)
}
await import(new URL(program, import.meta.url).href)
