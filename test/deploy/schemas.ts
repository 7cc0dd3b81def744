import type { Manifest } from './rendered.ts'

/** A compiled schema. It reads only the fields that it knows. */
type Validate = ((data: unknown) => boolean) & {
  errors?: { instancePath: string; message?: string; params?: unknown }[] | null
}

const core = 'kubernetes-models IoK8sApi'
const gatewayApi = '@kubernetes-models/gateway-api IoK8sSigsGatewayApiApisV1'
const operator =
  '@kubernetes-models/prometheus-operator ComGithubPrometheusOperatorPrometheusOperatorPkgApisMonitoringV1'

/** Package and name of the schema of each kind. */
const schemas: Record<string, string> = {
  'v1 Namespace': `${core}CoreV1Namespace`,
  'v1 ConfigMap': `${core}CoreV1ConfigMap`,
  'v1 Secret': `${core}CoreV1Secret`,
  'v1 Service': `${core}CoreV1Service`,
  'v1 ServiceAccount': `${core}CoreV1ServiceAccount`,
  'apps/v1 Deployment': `${core}AppsV1Deployment`,
  'apps/v1 StatefulSet': `${core}AppsV1StatefulSet`,
  'batch/v1 Job': `${core}BatchV1Job`,
  'autoscaling/v2 HorizontalPodAutoscaler': `${core}AutoscalingV2HorizontalPodAutoscaler`,
  'policy/v1 PodDisruptionBudget': `${core}PolicyV1PodDisruptionBudget`,
  'networking.k8s.io/v1 NetworkPolicy': `${core}NetworkingV1NetworkPolicy`,
  'networking.k8s.io/v1 Ingress': `${core}NetworkingV1Ingress`,
  'gateway.networking.k8s.io/v1 Gateway': `${gatewayApi}Gateway`,
  'gateway.networking.k8s.io/v1 HTTPRoute': `${gatewayApi}HTTPRoute`,
  'monitoring.coreos.com/v1 ServiceMonitor': `${operator}ServiceMonitor`,
  'monitoring.coreos.com/v1 PrometheusRule': `${operator}PrometheusRule`,
}

/** The errors of a document according to the schema of its kind, including unknown fields. */
export async function faultsOf(manifest: Manifest): Promise<string[]> {
  const kind = `${manifest.apiVersion} ${manifest.kind}`
  const schema = schemas[kind]
  if (!schema) return [`${kind}: no schema is known`]
  const [library, name] = schema.split(' ')
  // Not every one of these packages exports its schemas by name.
  const file = new URL(`./_schemas/${name}.js`, import.meta.resolve(library!))
  const { validate } = (await import(file.href)) as { validate: Validate }
  const watched = watch(manifest)
  const place = `${manifest.kind} ${manifest.metadata?.name}`
  if (!validate(watched.value)) {
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${place}: ${instancePath} ${message ?? ''} ${JSON.stringify(params)}`,
    )
  }
  return watched.unread().map((field) => `${place}: ${field} is an unknown field`)
}

/**
 * The schemas allow unknown fields, as older versions of the API did. But the compiled code reads the fields that it
 * knows, so a field that was not read is unknown to the schema.
 */
function watch(document: unknown) {
  const read = new Set<string>()
  const follow = (value: unknown, place: string): unknown => {
    if (typeof value !== 'object' || value === null) return value
    return new Proxy(value, {
      get(target, name) {
        const found = Reflect.get(target, name)
        if (typeof name === 'symbol' || typeof found === 'function') return found
        read.add(`${place}/${name}`)
        return follow(found, `${place}/${name}`)
      },
    })
  }
  const fieldsOf = (value: unknown, place: string): string[] =>
    typeof value !== 'object' || value === null
      ? []
      : Object.entries(value).flatMap(([name, inner]) => [`${place}/${name}`, ...fieldsOf(inner, `${place}/${name}`)])
  return {
    value: follow(document, ''),
    unread: () => fieldsOf(document, '').filter((field) => !read.has(field)),
  }
}
