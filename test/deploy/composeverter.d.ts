declare module 'composeverter' {
  const composeverter: { getDockerComposeSchemaWithoutFormats(): object }
  export default composeverter
}
