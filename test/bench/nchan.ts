import { execFile } from 'node:child_process'
import { access, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@parley/embedded'
import type { Scene } from './scene.ts'
import { startServer } from './server-process.ts'
import { root, type Stores } from './stores.ts'

const run = promisify(execFile)

export interface Nchan {
  port: number
  /** As in "nginx 1.22.1 with nchan 1.3.6". */
  version: string
}

/** Starts nginx with nchan, one worker, its events in memory. @throws when there is none and none can be fetched. */
export async function startNchan(scene: Scene, { directory, options }: Stores): Promise<Nchan> {
  const { nginx, module } = await findNginx()
  const port = await freePort()
  const home = path.join(directory, 'nginx')
  await mkdir(home, { recursive: true })
  await writeFile(path.join(home, 'nginx.conf'), configuration(home, module, port, options.streams + 1_000))
  await startServer(scene, {
    name: 'nginx',
    command: nginx,
    args: ['-p', home, '-c', path.join(home, 'nginx.conf'), '-e', path.join(home, 'error.log')],
    env: { PATH: process.env.PATH },
    readyUrl: `http://127.0.0.1:${port}/ready`,
  })
  return { port, version: await versionOf(nginx) }
}

const configuration = (home: string, module: string, port: number, connections: number) => `
load_module ${module};
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
worker_rlimit_nofile ${connections + 100};
pid ${home}/nginx.pid;
error_log ${home}/error.log;
events { worker_connections ${connections}; }
http {
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 600s;
  keepalive_requests 1000000000;
  client_body_temp_path ${home}/body;
  proxy_temp_path ${home}/proxy;
  fastcgi_temp_path ${home}/fastcgi;
  uwsgi_temp_path ${home}/uwsgi;
  scgi_temp_path ${home}/scgi;
  nchan_shared_memory_size 256M;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /ready { return 200; }
    location = /publish {
      nchan_publisher;
      nchan_channel_id bench;
      nchan_message_buffer_length 10000;
      nchan_message_timeout 60s;
    }
    location = /events {
      nchan_subscriber eventsource;
      nchan_channel_id bench;
      nchan_subscriber_first_message newest;
    }
  }
}
`

/**
 * Finds nginx and nchan in Debian's packages: either those that are installed, or unpacked ones that are downloaded
 * into the cache folder.
 */
async function findNginx() {
  const cache = path.join(root, '.cache/parley/nginx')
  const places = ['/', cache].map((base) => ({
    nginx: path.join(base, 'usr/sbin/nginx'),
    module: path.join(base, 'usr/lib/nginx/modules/ngx_nchan_module.so'),
  }))
  for (let fetched = false; ; fetched = true) {
    for (const place of places) if ((await exists(place.nginx)) && (await exists(place.module))) return place
    if (fetched) throw new Error('nginx with nchan was not found')
    await fetchPackages(cache)
  }
}

async function fetchPackages(cache: string) {
  await mkdir(cache, { recursive: true })
  const packages = ['nginx', 'libnginx-mod-nchan']
  await run('apt-get', ['download', ...packages], { cwd: cache }).catch((error: Error) => {
    throw new Error(`neither installed nor fetched with apt-get (packages ${packages.join(', ')}): ${firstLine(error)}`)
  })
  await run('sh', ['-c', 'for file in *.deb; do dpkg -x "$file" . || exit 1; done'], { cwd: cache })
}

async function versionOf(nginx: string) {
  const { stderr } = await run(nginx, ['-v'])
  const { stdout } = await run('dpkg', ['-s', 'libnginx-mod-nchan']).catch(() => ({ stdout: '' }))
  const [, nchan] = /^Version: (?:\d+:)?([\d.]+)/m.exec(stdout) ?? []
  return `nginx ${/[\d.]+/.exec(stderr)?.[0] ?? ''} with nchan ${nchan ?? ''}`.trim()
}

const exists = (file: string) =>
  access(file).then(
    () => true,
    () => false,
  )
const firstLine = ({ message }: Error) => message.split('\n')[0]
