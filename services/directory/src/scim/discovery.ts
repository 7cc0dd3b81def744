import { groupSchema } from './group-resource.ts'
import { largestPage } from './scim-query.ts'
import { userSchema } from './user-resource.ts'

const meta = (baseUrl: string, resourceType: string, path: string) => ({
  resourceType,
  location: `${baseUrl}/scim/v2/${path}`,
})

/** RFC 7643, 5. */
export const serviceProviderConfig = (baseUrl: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: largestPage },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: true },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Token',
      description: 'The token of the SCIM client, in the header Authorization: Bearer',
      primary: true,
    },
  ],
  meta: meta(baseUrl, 'ServiceProviderConfig', 'ServiceProviderConfig'),
})

/** RFC 7643, 6. */
export const resourceTypes = (baseUrl: string) => [
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: 'User',
    name: 'User',
    endpoint: '/Users',
    description: 'A person',
    schema: userSchema,
    meta: meta(baseUrl, 'ResourceType', 'ResourceTypes/User'),
  },
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: 'Group',
    name: 'Group',
    endpoint: '/Groups',
    description: 'A group of people',
    schema: groupSchema,
    meta: meta(baseUrl, 'ResourceType', 'ResourceTypes/Group'),
  },
]

const attribute = (name: string, more: object = {}) => ({
  name,
  type: 'string',
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
})

const reference = (resourceType: string, more: object = {}) =>
  attribute('$ref', { type: 'reference', referenceTypes: [resourceType], caseExact: true, ...more })
const readOnly = { mutability: 'readOnly' }
const immutable = { mutability: 'immutable' }

/** RFC 7643, 7: the supported attributes. Others are ignored. `active` and `emails` are always present. */
export const schemas = (baseUrl: string) => [
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id: userSchema,
    name: 'User',
    description: 'A person',
    attributes: [
      attribute('userName', { required: true, uniqueness: 'server' }),
      attribute('displayName'),
      attribute('name', {
        type: 'complex',
        subAttributes: ['formatted', 'givenName', 'familyName'].map((name) => attribute(name)),
      }),
      attribute('title'),
      attribute('preferredLanguage'),
      attribute('active', { type: 'boolean', required: true }),
      attribute('externalId', { caseExact: true }),
      attribute('emails', {
        type: 'complex',
        multiValued: true,
        required: true,
        subAttributes: [
          attribute('value', { required: true }),
          attribute('type', readOnly),
          attribute('primary', { type: 'boolean', ...readOnly }),
        ],
      }),
      attribute('groups', {
        type: 'complex',
        multiValued: true,
        mutability: 'readOnly',
        subAttributes: [
          ...['value', 'display', 'type'].map((name) => attribute(name, readOnly)),
          reference('Group', readOnly),
        ],
      }),
    ],
    meta: meta(baseUrl, 'Schema', `Schemas/${userSchema}`),
  },
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id: groupSchema,
    name: 'Group',
    description: 'A group of people',
    attributes: [
      attribute('displayName', { required: true, uniqueness: 'server' }),
      attribute('externalId', { caseExact: true }),
      attribute('members', {
        type: 'complex',
        multiValued: true,
        subAttributes: [
          attribute('value', immutable),
          reference('User', immutable),
          attribute('display', readOnly),
          attribute('type', { ...immutable, canonicalValues: ['User'] }),
        ],
      }),
    ],
    meta: meta(baseUrl, 'Schema', `Schemas/${groupSchema}`),
  },
]
