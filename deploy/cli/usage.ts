import type { Command } from './command.ts'

const common = `
The configuration comes from the same flags, variables and file as that of the services (docs/configuration.md), such as
DATABASE_URL or --config. Without a database it is the one that "npm start" runs in this folder; check-config demands one.
Exit codes: 0 done, 1 it could not be done, 2 the command line is wrong.
`

export const usage = (commands: readonly Command[]): string => `Usage: parley <command> [options]

${columns(commands.map(({ name, summary }) => [name, summary]))}

parley <command> --help tells more of a command, parley --version which version this is.
${common}`

export function usageOf({ name, summary, options, details }: Command): string {
  const rows = options.map(({ name, value, description }): [string, string] => [
    `--${name}${value === undefined ? '' : ` ${value}`}`,
    description,
  ])
  return `Usage: parley ${name} [options]

${summary}.${details === '' ? '' : `\n\n${details}`}

${columns([...rows, ['--help', 'Shows this']])}
${common}`
}

function columns(rows: [string, string][]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
