/** The entry point of the image: `start.ts <name> [flags]` starts a service, `setup`, or `parley` with a command. */
const [, , name = '', ...flags] = process.argv
process.argv.splice(2, Infinity, ...flags)

const services = ['admin', 'auth', 'directory', 'gateway', 'integrations', 'messaging', 'realtime', 'web', 'worker']

/** Each is started like `node services/<name>/src/main.ts`. */
const programs: Record<string, string> = {
  ...Object.fromEntries(services.map((service) => [service, `../../services/${service}/src/main.ts`])),
  setup: './setup.ts',
  parley: '../cli/parley.mjs',
}
const program = Object.hasOwn(programs, name) ? programs[name] : undefined
if (program === undefined) {
  process.stderr.write(`Please give the name of a program: ${Object.keys(programs).join(', ')}\n`)
  process.exit(64)
}
await import(new URL(program, import.meta.url).href)
