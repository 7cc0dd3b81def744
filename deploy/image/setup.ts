/**
 * The first start of an installation: generates its secrets and shows the first admin's password once.
 *
 *     setup --directory D    writes a folder of files for each process (docker-compose.yml); later only for services that are new
 *     setup --kubernetes     prints Secrets for `kubectl apply -f -`, and the password on standard error
 */
import { access, chmod, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { passwordFile } from '@parley/cli/passwords'
import { databaseRoles, roleName } from '@parley/database'
import { asFolders, asManifests, firstStartFolder, makeSecrets, randomText, type Secrets } from './secrets.ts'

const values = readFlags()
const secrets = makeSecrets(values)

if (values.directory !== undefined) await writeFolders(values.directory)
else if (values.kubernetes) {
  process.stdout.write(asManifests(secrets, values.namespace))
  process.stderr.write(announcement(secrets))
} else refuse('Please give --directory D or --kubernetes')

function readFlags() {
  try {
    return parseArgs({
      options: {
        directory: { type: 'string' },
        kubernetes: { type: 'boolean', default: false },
        namespace: { type: 'string', default: 'parley' },
        postgres: { type: 'string', default: 'postgres:5432' },
        redis: { type: 'string', default: 'redis:6379' },
        email: { type: 'string', default: 'admin@example.com' },
      },
    }).values
  } catch (error) {
    // The message names the flag.
    return refuse((error as Error).message)
  }
}

function refuse(reason: string): never {
  process.stderr.write(`setup: ${reason}\n`)
  process.exit(64)
}

/**
 * Writes the folders, and a mark as the last file. Without the mark an earlier set-up was interrupted: it starts again,
 * because nothing has used its secrets.
 */
async function writeFolders(directory: string) {
  const folders = asFolders(secrets)
  const mark = join(directory, 'postgres', 'complete')
  if (await exists(mark)) return addServices(directory)
  for (const [reader, files] of Object.entries(folders)) {
    await mkdir(join(directory, reader), { recursive: true })
    // Only one process mounts each folder, and the processes run as different users.
    for (const [name, text] of Object.entries(files)) {
      const file = join(directory, reader, name)
      // An interrupted set-up leaves read-only files, which an unprivileged root cannot overwrite.
      await rm(file, { force: true })
      await writeFile(file, text, { mode: 0o444 })
    }
  }
  await chmod(join(directory, firstStartFolder), 0o777)
  process.stdout.write(announcement(secrets))
  await writeFile(mark, '', { mode: 0o444 })
}

/** Adds the secrets of services that are new in this version. */
async function addServices(directory: string) {
  const at = (reader: string, name: string) => join(directory, reader, name)
  const migrating = new URL(await readFile(at('migrate', 'database-url'), 'utf8'))
  for (const role of databaseRoles) {
    const url = at(role, 'database-url')
    if (await exists(url)) continue
    const password = randomText(24)
    await mkdir(join(directory, role), { recursive: true })
    for (const name of ['jwt-secret', 'redis-url']) {
      await rm(at(role, name), { force: true })
      await copyFile(at('gateway', name), at(role, name))
    }
    await rm(at('migrate', passwordFile(role)), { force: true })
    await writeFile(at('migrate', passwordFile(role)), password, { mode: 0o444 })
    // This file is written last, because a service without it counts as new.
    const own = Object.assign(new URL(migrating), { username: roleName(role), password })
    await writeFile(url, own.href, { mode: 0o444 })
    process.stdout.write(`The service ${role} is new. Its secrets were added.\n`)
  }
  process.stdout.write('The secrets of this installation exist already.\n')
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function announcement({ firstStart }: Secrets): string {
  return [
    '',
    '  The first admin signs in with',
    '',
    `    address    ${values.email}`,
    `    password   ${firstStart['initial-user-password']}`,
    '',
    '  This is shown once.',
    '',
    '',
  ].join('\n')
}
