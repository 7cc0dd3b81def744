import { Type } from 'typebox'
import { Addresses, DatabaseUrl, HttpUrl, Switch, Text, UrlOf, WholeNumber } from './values.schema.ts'

export const DatabaseSettings = Type.Object({
  url: DatabaseUrl({ description: 'PostgreSQL to use.', usual: 'DATABASE_URL' }),
  poolSize: WholeNumber(2, 1000, {
    description:
      'The largest number of connections of one process. The leading relay keeps one of them. A worker that computes an export opens two more.',
    default: 10,
  }),
  pooler: Type.Enum(['none', 'transaction'], {
    description:
      'The connection pooler between Parley and PostgreSQL: `transaction` for a pooler in transaction mode (docs/database.md).',
    default: 'none',
  }),
  preparedStatements: Switch({
    description:
      'Prepare statements by name. A pooler in transaction mode must support this: PgBouncer does from 1.21 on.',
    derived: 'true without a pooler, false with one',
  }),
  tls: Type.Object({
    ca: Type.Optional(
      Text({
        description:
          'Certificates (PEM) of the authority to trust for PostgreSQL. With it, and no `sslmode` in the URL, the mode is `verify-full`.',
      }),
    ),
  }),
})

export const RedisSettings = Type.Object({
  url: Type.Optional(
    UrlOf(['redis:', 'rediss:'], {
      description: 'Redis to use. Required unless Sentinels or the nodes of a cluster are named.',
      usual: 'REDIS_URL',
    }),
  ),
  sentinels: Type.Optional(Addresses({ description: 'Sentinels that know where the master is.' })),
  sentinelName: Type.Optional(Text({ description: 'Name of that master at the Sentinels.' })),
  sentinelUsername: Type.Optional(Text({ description: 'User name at the Sentinels.' })),
  sentinelPassword: Type.Optional(Text({ description: 'Password of the Sentinels.' })),
  clusterNodes: Type.Optional(
    Addresses({ description: 'Some nodes of a Redis Cluster (7 or newer); the others are found through them.' }),
  ),
  username: Type.Optional(Text({ description: 'User name at Redis, unless the URL has one.' })),
  password: Type.Optional(Text({ description: 'Password of Redis, unless the URL has one.' })),
  tls: Type.Object({
    enabled: Switch({
      description:
        'TLS to the Sentinels and to the servers that they name, or to the cluster. With a URL write `rediss://` instead.',
      default: false,
    }),
    ca: Type.Optional(Text({ description: 'Certificates (PEM) of the authority to trust. Default: the public ones.' })),
  }),
  keyPrefix: Text({
    description: 'Prefix of all keys in Redis. Two installations that share one Redis need different ones.',
    default: 'parley:',
    pattern: '^[A-Za-z0-9._:-]+$',
    maxLength: 100,
    expects: 'letters, digits, `.`, `_`, `-` and `:`',
  }),
})

export const Storage = Type.Object({
  store: Type.Enum(['postgresql', 's3'], {
    description: 'Where attachments and images are stored.',
    default: 'postgresql',
  }),
  s3: Type.Object({
    endpoint: Type.Optional(HttpUrl({ description: 'Address of the object store. Default: AWS of that region.' })),
    region: Text({ description: 'Region of the bucket.', default: 'us-east-1' }),
    bucket: Type.Optional(Text({ description: 'Bucket, required for the store `s3`.' })),
    accessKeyId: Type.Optional(Text({ description: 'Access key. Default: the machine’s own identity.' })),
    secretAccessKey: Type.Optional(Text({ description: 'Secret of the access key.' })),
    keyPrefix: Type.String({
      description: 'Prefix of the names of all objects, for a shared bucket; such as `parley/`.',
      default: '',
      pattern: '^([A-Za-z0-9][A-Za-z0-9._/-]*)?$',
      maxLength: 200,
      expects: 'letters, digits, `.`, `_`, `-` and `/`, without a slash at the start',
    }),
    forcePathStyle: Switch({ description: 'Bucket in the path instead of the host name (MinIO).', default: false }),
  }),
})
