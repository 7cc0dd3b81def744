import path from 'node:path'
import { freePort } from '@parley/embedded'
import type { Scene } from './scene.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { ownEnvironment, type Stores } from './stores.ts'

/** Starts the bare route on a database of its own in the same PostgreSQL. */
export async function startBaseline(
  scene: Scene,
  { database: { pool }, postgresUrl }: Stores,
): Promise<ServerProcess & { port: number }> {
  await pool.query('drop database if exists baseline with (force)')
  await pool.query('create database baseline')
  const port = await freePort()
  const url = Object.assign(new URL(postgresUrl), { pathname: '/baseline' }).href
  const server = await startServer(scene, {
    name: 'the bare INSERT',
    command: process.execPath,
    args: [path.join(import.meta.dirname, 'baseline-server.ts'), url, String(port)],
    env: ownEnvironment(),
    readyUrl: `http://127.0.0.1:${port}/health/ready`,
  })
  return { ...server, port }
}
