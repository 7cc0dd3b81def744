import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { root } from '../src/launch.ts'

/** The previous version. Change it with every release. */
const previous = '0863ba33da3b6e596a9f7dd87bce2e87b1017fd9'

const run = promisify(execFile)

/** Whether the history of this checkout reaches back that far. */
export const hasPreviousVersion = () =>
  run('git', ['cat-file', '-e', `${previous}^{commit}`], { cwd: root }).then(
    () => true,
    () => false,
  )

export interface Checkout {
  root: string
  discard(): Promise<void>
}

/** The previous version from the repository's history, with the npm packages of this version. */
export async function checkOutPreviousVersion(): Promise<Checkout> {
  const directory = await realpath(await mkdtemp(path.join(tmpdir(), 'parley-previous-')))
  const archive = path.join(directory, 'archive.tar')
  const checkout = path.join(directory, 'parley')
  await mkdir(path.join(checkout, 'node_modules/@parley'), { recursive: true })
  await run('git', ['archive', '--output', archive, previous], { cwd: root })
  await run('tar', ['--extract', '--file', archive, '--directory', checkout])

  for (const name of await readdir(path.join(root, 'node_modules'))) {
    if (name === '@parley') continue
    await symlink(path.join(root, 'node_modules', name), path.join(checkout, 'node_modules', name))
  }
  for (const lib of await readdir(path.join(checkout, 'libs'))) {
    await symlink(path.join(checkout, 'libs', lib), path.join(checkout, 'node_modules/@parley', lib))
  }
  return { root: checkout, discard: () => rm(directory, { recursive: true, force: true }) }
}
